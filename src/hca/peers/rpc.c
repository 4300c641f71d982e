/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls and replies are records on the link between two processes, with a serial number that names
 * the pending call of the caller. rpc.lock guards the list of pending calls; nothing is locked inside
 * of it.
 */
#include "hca/peers/rpc.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fabric/directory.h"
#include "fabric/link.h"
#include "fabric/service.h"
#include "hca/hca.h"
#include "fabric/epoch.h"
#include "hca/peers/peer.h"
#include "roce/packet.h"

#define SEND_TIMEOUT_NS  5000000000ull  /* until the link has room for a record */
#define REPLY_TIMEOUT_NS 20000000000ull /* the other process may wait for a processor */

struct message {
	uint32_t verb;
	uint32_t serial; /* 0: a notification, whose reply is ignored */
	int32_t result;
	uint32_t len;
	_Alignas(8) uint8_t body[HCA_RPC_BYTES];
};

/* A call that waits for its reply, on the caller's stack. */
struct rpc_pending {
	LIST_ENTRY(rpc_pending) entry;
	fabric_id_t to;
	uint32_t serial;
	bool done;
	int result;
	void *out;
	size_t out_len;
};

/* Work of the service thread: a call to handle, or a notification to send. */
struct work {
	fabric_id_t peer;
	struct message m;
};

fabric_id_t hca_rpc_self(void)
{
	return hca.ops->join() ? FABRIC_ID_NONE : fabric_self();
}

void hca_rpc_serve(enum hca_rpc_verb verb, hca_rpc_fn *fn)
{
	/* cppcheck-suppress AssignmentAddressToInteger; it does not know the array's type */
	hca.peers.rpc.handler[verb] = fn;
}

/* -EAGAIN: no room, or no link yet. */
static int try_send(fabric_id_t to, uint8_t op, const struct message *m)
{
	const struct roce_pkt head = { .op = op, .len = sizeof(*m) };
	struct hca_peer *peer;
	int err = -EAGAIN;
	bool wait;
	char *record;

	epoch_enter();
	peer = hca_peer_find(to, &wait);
	if (!peer) {
		err = wait ? -EAGAIN : -ECONNRESET;
		goto exit;
	}
	fabric_link_tx_lock(peer->link);
	record = fabric_link_reserve(peer->link, ROCE_PKT_RECORD + sizeof(*m));
	if (record) {
		memcpy(record, &head, ROCE_PKT_RECORD);
		memcpy(record + ROCE_PKT_RECORD, m, sizeof(*m));
		fabric_link_publish(peer->link);
		err = 0;
	}
	fabric_link_tx_unlock(peer->link);
exit:
	epoch_exit();
	return err;
}

/* Waits for the link and for room. */
static int send_record(fabric_id_t to, uint8_t op, const struct message *m)
{
	uint64_t until_ns = hca_now_ns() + SEND_TIMEOUT_NS;
	int err;

	while ((err = try_send(to, op, m)) == -EAGAIN && hca_now_ns() < until_ns)
		sched_yield();
	return err == -EAGAIN ? -ETIMEDOUT : err;
}

/* Locked. */
static int wait_for_reply(const struct rpc_pending *call)
{
	uint64_t until_ns = hca_now_ns() + REPLY_TIMEOUT_NS;
	struct timespec until = { .tv_sec = until_ns / 1000000000,
				  .tv_nsec = until_ns % 1000000000 };

	while (!call->done)
		if (pthread_cond_clockwait(&hca.peers.rpc.replied, &hca.peers.rpc.lock,
					   CLOCK_MONOTONIC, &until) &&
		    !call->done)
			return -ETIMEDOUT;
	return call->result;
}

int hca_rpc_call(fabric_id_t to, enum hca_rpc_verb verb, const void *in, size_t len, void *out,
		 size_t out_len)
{
	struct rpc_pending call = { .to = to, .out = out, .out_len = out_len };
	struct message m = { .verb = verb, .len = (uint32_t)len };
	int err;

	memcpy(m.body, in, len);
	pthread_mutex_lock(&hca.peers.rpc.lock);
	m.serial = call.serial = ++hca.peers.rpc.last_serial;
	LIST_INSERT_HEAD(&hca.peers.rpc.pending, &call, entry);
	pthread_mutex_unlock(&hca.peers.rpc.lock);
	err = send_record(to, ROCE_PKT_RPC_CALL, &m);
	pthread_mutex_lock(&hca.peers.rpc.lock);
	if (!err)
		err = wait_for_reply(&call);
	LIST_REMOVE(&call, entry);
	pthread_mutex_unlock(&hca.peers.rpc.lock);
	return err;
}

static void send_notification(void *arg)
{
	struct work *w = arg;

	send_record(w->peer, ROCE_PKT_RPC_CALL, &w->m);
	free(w);
}

void hca_rpc_notify(fabric_id_t to, enum hca_rpc_verb verb, const void *in, size_t len)
{
	struct work *w = calloc(1, sizeof(*w));

	if (!w)
		return;
	w->peer = to;
	w->m.verb = verb;
	w->m.len = (uint32_t)len;
	memcpy(w->m.body, in, len);
	if (fabric_service_run(send_notification, w))
		free(w);
}

static void handle_call(void *arg)
{
	struct work *w = arg;
	struct message reply = { .verb = w->m.verb, .serial = w->m.serial, .result = -EOPNOTSUPP };
	hca_rpc_fn *fn = w->m.verb < HCA_RPC_VERBS ? hca.peers.rpc.handler[w->m.verb] : NULL;

	if (fn)
		reply.result = fn(w->peer, w->m.body, reply.body);
	reply.len = sizeof(reply.body);
	send_record(w->peer, ROCE_PKT_RPC_REPLY, &reply); /* lost if the caller is gone */
	free(w);
}

static void take_reply(fabric_id_t from, const struct message *m)
{
	struct rpc_pending *call;

	pthread_mutex_lock(&hca.peers.rpc.lock);
	LIST_FOREACH(call, &hca.peers.rpc.pending, entry)
		if (call->serial == m->serial && call->to == from)
			break;
	if (call && !call->done) {
		call->done = true;
		call->result = m->result;
		if (!m->result && call->out)
			memcpy(call->out, m->body, call->out_len);
		pthread_cond_broadcast(&hca.peers.rpc.replied);
	}
	pthread_mutex_unlock(&hca.peers.rpc.lock);
}

bool rpc_record(fabric_id_t from, const void *body, uint32_t len, bool is_reply)
{
	struct work *w;

	if (len < sizeof(w->m))
		return false;
	w = malloc(sizeof(*w));
	if (!w)
		return true; /* the call times out */
	w->peer = from;
	memcpy(&w->m, body, sizeof(w->m));
	if (is_reply)
		take_reply(from, &w->m);
	else if (!fabric_service_run(handle_call, w))
		return true;
	free(w);
	return true;
}

static void peer_gone(fabric_id_t id)
{
	struct rpc_pending *call;

	pthread_mutex_lock(&hca.peers.rpc.lock);
	LIST_FOREACH(call, &hca.peers.rpc.pending, entry)
		if (call->to == id && !call->done) {
			call->done = true;
			call->result = -ECONNRESET;
		}
	pthread_cond_broadcast(&hca.peers.rpc.replied);
	pthread_mutex_unlock(&hca.peers.rpc.lock);
}

const struct peer_listener rpc_peer_listener = { .gone = peer_gone };
