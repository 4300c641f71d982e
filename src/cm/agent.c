/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Joins the connections to queue pair 1 and to the ids. The service thread calls the agent without a
 * lock; cm.lock is taken here.
 */
#include "cm/agent.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "cm/changes.h"
#include "cm/conn.h"
#include "cm/conn_event.h"
#include "cm/conn_recv.h"
#include "cm/datagram.h"
#include "cm/id_types.h"
#include "cm/peers.h"
#include "cm/request.h"
#include "cm/resolving.h"
#include "cm/sidr.h"
#include "cm/state.h"
#include "hca/engine/poll.h"
#include "hca/wire/gsi.h"
#include "hca/wire/gsi_route.h"
#include "hca/wire/gsi_send.h"

static void send_mad(const struct conn_route *route, const uint8_t mad[MSG_BYTES])
{
	struct hca_av to = route->av;

	to.flow_label = 0; /* it spreads the connection's own packets only */
	if (cm.agent)      /* not in the child of a fork, whose ids are the parent's */
		hca_gsi_send(route->adapter, &to, mad);
}

static void set_deadline(uint64_t ns)
{
	if (cm.agent)
		hca_gsi_set_timer(cm.agent, ns);
}

static bool is_local(const struct conn_route *route)
{
	return hca_gsi_is_local(route->adapter, &route->av);
}

/* The end of a process is told by process_gone(), or found by cm_peers_run(). */
static uint32_t process_of(uint32_t comm_id)
{
	uint32_t process = hca_gsi_process_of(comm_id);

	if (process && !hca_gsi_watch_process(process) && cm.agent)
		cm_peers_watch(cm_now_ns());
	return process;
}

static const struct conn_ops conn_ops = {
	.send = send_mad,
	.new_comm_id = hca_gsi_comm_id,
	.new_tid = hca_gsi_tid,
	.is_local = is_local,
	.process_of = process_of,
	.set_deadline = set_deadline,
	.request = cm_request_receive,
	.event = cm_conn_event,
};

static const struct sidr_ops sidr_ops = {
	.request = cm_datagram_request,
	.reply = cm_datagram_reply,
};

/*
 * Packets of the connection arrive at other sockets than MADs. The peer has sent them before the DREQ, so
 * their completions come before the event. Each connection has one such DREQ: others, which anybody may send,
 * make no work.
 */
static void receive(void *arg, const struct hca_gsi_mad *mad)
{
	struct conn_route from = { .adapter = mad->adapter, .av = mad->from };

	(void)arg;
	cm_lock();
	if (conn_is_ended_by(&cm.conns, &from, mad->mad)) {
		cm_unlock();
		hca_poll_arrived();
		cm_lock();
	}
	if (!conn_receive(&cm.conns, &from, mad->mad, cm_now_ns()))
		sidr_receive(&cm.sidrs, &from, mad->mad);
	if (!hca_gsi_is_local(from.adapter, &from.av))
		cm_peers_watch(cm_now_ns());
	cm_unlock();
}

static void run_timers(void *arg)
{
	(void)arg;
	cm_lock();
	conn_run_timers(&cm.conns, cm_now_ns());
	sidr_run_timers(&cm.sidrs, cm_now_ns());
	cm_resolving_run(cm_now_ns());
	cm_peers_run(cm_now_ns());
	cm_changes_retry(cm_now_ns());
	cm_unlock();
}

static void process_gone(void *arg, uint32_t process)
{
	(void)arg;
	hca_poll_arrived();
	cm_lock();
	conn_process_gone(&cm.conns, process, cm_now_ns());
	cm_unlock();
}

static void interfaces_changed(void *arg)
{
	(void)arg;
	cm_lock();
	cm_changes_run();
	cm_unlock();
}

static const struct hca_gsi_ops gsi_ops = {
	.receive = receive,
	.timer = run_timers,
	.gone = process_gone,
	.changed = interfaces_changed,
};

/* The child of a fork has no connections: they are the parent's. */
static void forked(void)
{
	struct conn *conn;

	while ((conn = LIST_FIRST(&cm.conns.all))) {
		if (conn->owner)
			((struct cm_id *)conn->owner)->conn = NULL;
		conn_free(conn);
	}
	cm_resolving_forked();
	heap_fini(&cm.sidrs.timers); /* datagram requests are not repeated here */
	cm.peers.due_ns = 0;
	cm.changes_due_ns = 0;
	cm.agent = NULL;
	/* Threads that wait for acknowledgements are the parent's. */
	cm.event_acked = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
}

int cm_agent_need(void)
{
	int err;

	if (cm.agent)
		return 0;
	err = hca_gsi_agent_create(HCA_MAD_CM, &gsi_ops, NULL, &cm.agent);
	if (err)
		return err;
	if (!cm.conns.ops)
		pthread_atfork(NULL, NULL, forked);
	cm.conns.ops = &conn_ops;
	cm.sidrs.net = &conn_ops;
	cm.sidrs.ops = &sidr_ops;
	return 0;
}

/*
 * A second at most, by the length of its pauses: a limit by the time of day would move with that clock.
 */
static bool lock_soon(void)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	for (unsigned int i = 0; i < 1000; i++) {
		if (!pthread_mutex_trylock(&cm.lock))
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

/*
 * Peers are told when the process ends without destroying its ids. A signal handler may have called
 * exit() while its thread held the lock: then they are not.
 */
static __attribute__((destructor)) void leave(void)
{
	if (!lock_soon())
		return;
	if (cm.agent)
		conn_leave_all(&cm.conns);
	cm_unlock();
}
