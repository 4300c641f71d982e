/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/wire/wire_service.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <time.h>

#include "fabric/epoch.h"
#include "fabric/poll.h"
#include "fabric/service.h"
#include "hca/wire/reuseport.h"
#include "hca/wire/wire_acks.h"
#include "hca/wire/wire_listen.h"
#include "hca/wire/wire_poll.h"
#include "hca/wire/wire_port.h"
#include "hca/wire/wire_tx.h"
#include "roce/endpoint.h"

/*
 * Pollers have to poll within POLL_CALLS times the duration of a system call, since they may send
 * between two polls (an emulated processor needs 35 us for that), within these limits. If the check
 * itself took STALLED times longer, the whole machine stood still (a virtual processor without its
 * host's), and it counts for nothing. After MISSES_MAX misses in a row (one may be a lost time
 * slice) the service thread watches the socket for WATCH_NS, and tries the pollers again every
 * RETRY_NS.
 */
#define POLL_CALLS  40u
#define POLL_MIN_NS 20000u
#define POLL_MAX_NS 500000u
#define STALLED     10u
#define MISSES_MAX  3u
#define WATCH_NS    1000000000u
#define RETRY_NS    10000000u

enum poll_check { POLL_NO_PACKETS, POLL_IN_TIME, POLL_MISSED };

static uint64_t poll_limit(uint64_t call_ns)
{
	uint64_t ns = POLL_CALLS * call_ns;

	return ns < POLL_MIN_NS ? POLL_MIN_NS : ns > POLL_MAX_NS ? POLL_MAX_NS : ns;
}

/* Whether pollers receive the packets that lie at the port within the limit. */
static enum poll_check check_polls(struct wire_port *port)
{
	uint32_t polls = atomic_load_explicit(&port->polls, memory_order_relaxed);
	uint64_t began_ns = hca_now_ns(), limit_ns;

	if (!roce_endpoint_has_packets(port->ep))
		return POLL_NO_PACKETS;
	limit_ns = poll_limit(hca_now_ns() - began_ns);
	began_ns = hca_now_ns();
	nanosleep(&(struct timespec){ .tv_nsec = (long)limit_ns }, NULL);
	if (atomic_load_explicit(&port->polls, memory_order_relaxed) != polls)
		return POLL_IN_TIME;
	return hca_now_ns() - began_ns < STALLED * limit_ns ? POLL_MISSED : POLL_NO_PACKETS;
}

static void watch(struct wire_port *port, uint32_t events)
{
	fabric_service_mod_fd(roce_endpoint_fd(port->ep), events);
}

/*
 * A program that reads memory between polls (for an RDMA WRITE, say) leaves packets unread. They are
 * received for it then, and its polls are not relied upon for a while if that happens repeatedly.
 */
static void check_pollers(struct wire_port *port, uint64_t now_ns)
{
	enum poll_check check;

	if (!atomic_load(&port->left_to_pollers))
		return;
	check = check_polls(port);
	if (check == POLL_IN_TIME)
		port->poll_misses = 0;
	if (check != POLL_MISSED)
		return;
	wire_poll_port(port, false);
	if (++port->poll_misses < MISSES_MAX)
		return;
	port->poll_misses = 0;
	port->watch_until_ns = now_ns + WATCH_NS;
	port->pollers_retry_ns = now_ns + RETRY_NS;
	if (atomic_exchange(&port->left_to_pollers, false))
		watch(port, EPOLLIN);
}

void wire_polling_check(uint64_t now_ns, uint64_t period_ns)
{
	for (struct wire_port *port = wire_port_first(); port; port = port->next) {
		wire_acks_check(port, now_ns, period_ns);
		check_pollers(port, now_ns);
	}
}

void wire_polling_stopped(void)
{
	for (struct wire_port *port = wire_port_first(); port; port = port->next) {
		/* [W2] */
		if (atomic_exchange(&port->left_to_pollers, false))
			watch(port, EPOLLIN);
		/* [W3] */
		if (atomic_load(&port->acks_waiting))
			hca_wake_at(hca_now_ns());
	}
}

/*
 * A program may miss packets at first only: one that waits for a write in memory polls from then on,
 * when acknowledgements leave with its replies.
 */
static bool pollers_are_reliable(struct wire_port *port)
{
	uint64_t now_ns = hca_now_ns();

	if (now_ns >= port->watch_until_ns)
		return true;
	if (now_ns < port->pollers_retry_ns)
		return false;
	port->pollers_retry_ns = now_ns + RETRY_NS;
	if (check_polls(port) != POLL_IN_TIME)
		return false;
	port->watch_until_ns = 0;
	return true;
}

static void readable(void *arg, uint32_t events)
{
	struct wire_port *port = arg;

	if (atomic_load(&port->is_polled) && fabric_is_polled() && pollers_are_reliable(port)) {
		watch(port, 0);
		/* [W2] pairs with wire_polling_stopped(): it sees the flag, or this thread sees that
		 * polling has stopped. The load behind is a relaxed one, hence the fence. */
		atomic_store_explicit(&port->left_to_pollers, true, memory_order_relaxed);
		atomic_thread_fence(memory_order_seq_cst);
		if (fabric_is_polled())
			return;
		if (atomic_exchange(&port->left_to_pollers, false))
			watch(port, EPOLLIN);
	}
	wire_poll_port(port, false);
}

static void group_readable(void *port, uint32_t events)
{
	wire_poll_port(port, false);
}

const struct wire_port_events wire_service_events = {
	.readable = readable,
	.group_readable = group_readable,
	.process_exits = wire_acks_process_exits,
};

static uint64_t earlier(uint64_t a_ns, uint64_t b_ns)
{
	return a_ns < b_ns ? a_ns : b_ns;
}

uint64_t wire_timers(uint64_t now_ns)
{
	uint64_t next_ns = wire_listen_timers(now_ns);

	for (struct wire_port *port = wire_port_first(); port; port = port->next) {
		bool retry;

		next_ns = earlier(next_ns, wire_acks_timers(port, now_ns));
		epoch_enter();
		retry = wire_tx_retry(port);
		epoch_exit();
		if (retry)
			next_ns = earlier(next_ns, now_ns + WIRE_TX_RETRY_NS);
		/* unread packets, packets that a fault delays, and answers to probes */
		if (unlikely(atomic_exchange(&port->unread, false) || wire_faults_on() ||
			     port->reuseport.probing))
			wire_poll_port(port, false);
		next_ns = earlier(next_ns, reuseport_run(&port->reuseport, port->ep, now_ns));
	}
	return next_ns;
}
