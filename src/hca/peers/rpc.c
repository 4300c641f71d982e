/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Questions and their answers are records on the link between two processes, with a serial number
 * that tells the asker's open questions apart. One lock guards the list of those; nothing is locked
 * inside of it.
 */
#include "hca/peers/rpc.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fabric/clock.h"
#include "fabric/link.h"
#include "fabric/service.h"
#include "hca/peers/peer.h"
#include "roce/packet.h"
#include "util/forksafe.h"

#define PATIENCE_NS 5000000000ull /* until there is room for a record */
#define ANSWER_S    20            /* a process may have to wait for a processor */

struct message {
	uint32_t verb;
	uint32_t serial;
	int32_t result;
	uint32_t len;
	_Alignas(8) uint8_t body[HCA_RPC_BYTES];
};

/* A question that waits for its answer, on its asker's stack. */
struct open {
	struct open *next;
	fabric_id_t who;
	uint32_t serial;
	bool done;
	int result;
	void *out;
	size_t out_len;
};

/* What waits for the service thread: a question, or news for another process. */
struct work {
	fabric_id_t from; /* or whom to tell */
	struct message m;
};

static pthread_mutex_t rpc_lock = PTHREAD_MUTEX_INITIALIZER;
FORKSAFE(rpc_lock, FORKSAFE_OBJECT);
static pthread_cond_t answered = PTHREAD_COND_INITIALIZER;
static struct open *questions;
static uint32_t serials;
static hca_ask_fn serve[HCA_RPC_VERBS];

void hca_rpc_serve(enum hca_rpc_verb verb, hca_ask_fn fn)
{
	serve[verb] = fn;
}

/* -EAGAIN: no room, or no link yet. */
static int put_record(fabric_id_t who, uint8_t op, const struct message *m)
{
	const struct roce_pkt head = { .op = op, .len = sizeof(*m) };
	struct hca_peer *peer;
	int err = -EAGAIN;
	bool wait;
	char *record;

	epoch_enter();
	peer = hca_peer_find(who, &wait);
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

static int put_patiently(fabric_id_t who, uint8_t op, const struct message *m)
{
	uint64_t until = fabric_now_ns() + PATIENCE_NS;
	int err;

	while ((err = put_record(who, op, m)) == -EAGAIN && fabric_now_ns() < until)
		sched_yield();
	return err == -EAGAIN ? -ETIMEDOUT : err;
}

static void forget(struct open *q)
{
	struct open **at;

	for (at = &questions; *at && *at != q; at = &(*at)->next)
		;
	if (*at)
		*at = q->next;
}

int hca_rpc_call(fabric_id_t who, enum hca_rpc_verb verb, const void *in, size_t len, void *out,
		 size_t out_len)
{
	struct open q = { .who = who, .out = out, .out_len = out_len };
	struct message m = { .verb = verb, .len = (uint32_t)len };
	struct timespec until;
	int err;

	memcpy(m.body, in, len);
	pthread_mutex_lock(&rpc_lock);
	m.serial = q.serial = ++serials;
	q.next = questions;
	questions = &q;
	pthread_mutex_unlock(&rpc_lock);
	err = put_patiently(who, ROCE_PKT_RPC_CALL, &m);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += ANSWER_S;
	pthread_mutex_lock(&rpc_lock);
	while (!err && !q.done)
		if (pthread_cond_timedwait(&answered, &rpc_lock, &until) && !q.done)
			err = -ETIMEDOUT;
	forget(&q);
	pthread_mutex_unlock(&rpc_lock);
	return err ? err : q.result;
}

static void tell(void *arg)
{
	struct work *w = arg;

	put_patiently(w->from, ROCE_PKT_RPC_CALL, &w->m);
	free(w);
}

void hca_rpc_notify(fabric_id_t who, enum hca_rpc_verb verb, const void *in, size_t len)
{
	struct work *w = calloc(1, sizeof(*w));

	if (!w)
		return;
	w->from = who;
	w->m.verb = verb;
	w->m.len = (uint32_t)len;
	memcpy(w->m.body, in, len);
	/* Serials begin at 1: the answer to 0 is nobody's. */
	if (fabric_service_run(tell, w))
		free(w);
}

static void answer(void *arg)
{
	struct work *w = arg;
	struct message reply = { .verb = w->m.verb, .serial = w->m.serial, .result = -EOPNOTSUPP };

	if (w->m.verb < HCA_RPC_VERBS && serve[w->m.verb])
		reply.result = serve[w->m.verb](w->from, w->m.body, reply.body);
	reply.len = sizeof(reply.body);
	/* An asker that is gone, or does not read, does without. */
	put_patiently(w->from, ROCE_PKT_RPC_REPLY, &reply);
	free(w);
}

static void take_answer(fabric_id_t from, const struct message *m)
{
	struct open *q;

	pthread_mutex_lock(&rpc_lock);
	for (q = questions; q && (q->serial != m->serial || q->who != from); q = q->next)
		;
	if (q && !q->done) {
		q->done = true;
		q->result = m->result;
		if (!m->result && q->out)
			memcpy(q->out, m->body, q->out_len);
		pthread_cond_broadcast(&answered);
	}
	pthread_mutex_unlock(&rpc_lock);
}

bool rpc_record(fabric_id_t from, const void *body, uint32_t len, bool is_answer)
{
	struct work *w;

	if (len < sizeof(w->m))
		return false;
	w = malloc(sizeof(*w));
	if (!w)
		return true; /* the asker loses patience */
	w->from = from;
	memcpy(&w->m, body, sizeof(w->m));
	if (is_answer)
		take_answer(from, &w->m);
	else if (!fabric_service_run(answer, w))
		return true;
	free(w);
	return true;
}

static void peer_gone(fabric_id_t id)
{
	pthread_mutex_lock(&rpc_lock);
	for (struct open *q = questions; q; q = q->next)
		if (q->who == id && !q->done) {
			q->done = true;
			q->result = -ECONNRESET;
		}
	pthread_cond_broadcast(&answered);
	pthread_mutex_unlock(&rpc_lock);
}

const struct peer_listener rpc_peer_listener = { .gone = peer_gone };

void rpc_forked(void)
{
	questions = NULL;
}
