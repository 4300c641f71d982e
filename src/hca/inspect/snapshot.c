/* SPDX-License-Identifier: BSD-2-Clause */
/* On the service thread when a viewer asks. Locks: a queue pair's, and inside it those of its CQs and its SRQ. */
#include "hca/inspect/snapshot.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "hca/hca.h"
#include "hca/queue/cq.h"
#include "hca/queue/srq.h"
#include "hca/transport/progress.h"
#include "hca/transport/qp_table.h"
#include "util/file_limit.h"

/*
 * A thread that posts without a pause leaves the lock of its queue pair for moments only, and may be stopped with it. After
 * a while the numbers are read without it: each is right, but they need not be of one moment (SNAPSHOT_UNLOCKED). What is
 * behind a pointer stays for the epoch section.
 */
#define SPINS     2000
#define TURNS     12 /* for a queue pair; 1 for what is locked inside of it */
#define NAP_EVERY 4

/* Reads what other threads may be writing. */
#define UNLOCKED __attribute__((no_sanitize("thread")))

static bool lock(struct fabric_lock *l, unsigned int turns)
{
	const struct timespec nap = { .tv_nsec = 50000 };

	for (unsigned int i = 0; i < turns; i++) {
		for (unsigned int k = 0; k < SPINS; k++)
			if (fabric_trylock(l))
				return true;
		if (i % NAP_EVERY == NAP_EVERY - 1)
			nanosleep(&nap, NULL);
	}
	return false;
}

/* ---- rings ---- */

UNLOCKED static void take_cq(struct hca_cq *cq, struct snapshot_ring *out)
{
	uint32_t used;
	bool locked;

	if (!cq)
		return;
	locked = lock(&cq->lock, 1);
	used = (cq->pi - cq->format->cq_consumer(cq)) & (2 * cq->size - 1);
	*out = (struct snapshot_ring){ .number = cq->cqn,
				       .size = cq->size,
				       .fill = used < cq->size ? used : cq->size,
				       .failed = cq->failed };
	if (locked)
		fabric_unlock(&cq->lock);
}

UNLOCKED static void take_srq(struct hca_srq *srq, struct snapshot_ring *out)
{
	bool locked = lock(&srq->lock, 1);

	*out = (struct snapshot_ring){
		.number = srq->srqn,
		.size = srq->ring.size,
		.fill = (uint16_t)(srq->format->rq_producer(&srq->ring) - srq->taken),
	};
	if (locked)
		fabric_unlock(&srq->lock);
}

/* Frames have receive queues of another kind (raw/wq.h). */
static bool has_rq(const struct qp *qp)
{
	return qp->pub.type != HCA_QP_RAW && qp->pub.rq.size && qp->pub.rq.db;
}

UNLOCKED static void take_receives(struct qp *qp, struct snapshot_qp *out)
{
	const struct hca_rq_ring *rq = &qp->pub.rq;

	out->received = qp->resp.rq_taken;
	out->requests = qp->resp.msn;
	if (qp->pub.srq)
		take_srq(qp->pub.srq, &out->recv);
	else if (has_rq(qp))
		out->recv = (struct snapshot_ring){
			.size = rq->size,
			.fill = (uint16_t)(qp->pub.format->rq_producer(rq) - qp->resp.rq_taken),
		};
	if (out->recv.size)
		out->flags |= SNAPSHOT_RQ;
}

/* ---- the send queue ---- */

/* Requests from `next` on that were handed over. */
static uint32_t count_waiting(const struct qp *qp)
{
	const struct hca_sq_ring *sq = &qp->pub.sq;
	uint32_t at = qp->req.next, n = 0;
	struct hca_send s;

	if (!sq->size || !sq->buf)
		return 0;
	while (n < sq->size && hca_sq_ready(qp->pub.format, sq, at, qp->req.producer)) {
		qp->pub.format->sq_decode(&qp->pub, at, &s);
		at += s.blocks ? s.blocks : 1;
		n++;
	}
	return n;
}

/* Entries of the ring are not read without the lock: those that wait are missing then. */
UNLOCKED static uint32_t count_pending(const struct qp *qp, bool locked)
{
	uint32_t sent = qp->window.tail - qp->window.head;

	if (!locked)
		return sent < QP_WINDOW ? sent : 0;
	/* The request that is sent in part is in the window and at `next`. */
	return sent + count_waiting(qp) - (sent && qp->req.partial);
}

UNLOCKED static void take_sends(const struct qp *qp, struct snapshot_qp *out, bool locked)
{
	out->pending = count_pending(qp, locked);
	out->sq_size = qp->pub.sq_most;
	if (!qp->pub.sq_most || qp->doorbell.watched)
		return;
	out->polled = atomic_load_explicit(qp->pub.sq_polled, memory_order_relaxed);
	out->posted = *qp->pub.sq_posted;
	out->flags |= SNAPSHOT_POSTED;
}

/* ---- the rest ---- */

/*
 * Other threads change the pointers, unless the lock is held: each is loaded once. What they point to stays for
 * longer: a block is in the host directory, which is mapped as long as there is a service thread, and a peer goes
 * after the epoch sections that may have seen it (peer_link_down()).
 */
UNLOCKED static void take_traffic(const struct qp *qp, struct snapshot_qp *out)
{
	const struct fabric_traffic *traffic = __atomic_load_n(&qp->traffic, __ATOMIC_RELAXED);

	/* Frames are not counted by queue pair. */
	if (!traffic || qp->pub.type == HCA_QP_RAW)
		return;
	for (unsigned int i = 0; i < FABRIC_TRAFFIC_COUNTS; i++)
		out->traffic[i] = qp->traffic_before[i] +
				  atomic_load_explicit(&traffic->count[i], memory_order_relaxed);
	out->flags |= SNAPSHOT_TRAFFIC;
}

UNLOCKED static void take_path(const struct qp *qp, struct snapshot_qp *out)
{
	const struct hca_peer *peer = __atomic_load_n(&qp->peer, __ATOMIC_RELAXED);

	out->port = qp->attr.port;
	out->dest_qpn = qp->attr.dest_qpn;
	out->peer_pid = peer ? peer->pid : 0;
	for (size_t i = 0; i < sizeof(out->dgid); i++)
		out->dgid[i] = qp->attr.av.dgid.raw[i];
	out->dlid = qp->attr.av.dlid;
	if (qp->remote)
		out->flags |= SNAPSHOT_REMOTE;
}

static uint32_t trouble(struct qp *qp, enum qp_trouble what)
{
	return atomic_load_explicit(&qp->trouble[what], memory_order_relaxed);
}

UNLOCKED static void take_troubles(struct qp *qp, struct snapshot_qp *out)
{
	out->timeout = qp->attr.timeout;
	out->retry_cnt = qp->attr.retry_cnt;
	out->rnr_retry = qp->attr.rnr_retry;
	out->min_rnr_timer = qp->attr.min_rnr_timer;
	out->retries = qp->comp.retries;
	out->rnr_retries = qp->comp.rnr_retries;
	out->rtt_ns = qp->remote ? qp->comp.probe.rtt_ns : 0;
	out->retried = trouble(qp, QP_TROUBLE_RETRY);
	out->rnr = trouble(qp, QP_TROUBLE_RNR);
	out->no_recv = trouble(qp, QP_TROUBLE_NO_RECV);
	out->errors = trouble(qp, QP_TROUBLE_ERROR);
	out->flushed = trouble(qp, QP_TROUBLE_FLUSHED);
}

struct list {
	struct snapshot *all;
	size_t room;
};

static bool grow(struct list *l)
{
	size_t room = l->room ? 2 * l->room : 16;
	void *more;

	if (l->all && l->all->count < l->room)
		return true;
	more = realloc(l->all, sizeof(*l->all) + room * sizeof(l->all->qp[0]));
	if (!more)
		return false;
	l->all = more;
	l->room = room;
	return true;
}

UNLOCKED static void take_qp(struct qp *qp, void *arg)
{
	struct list *l = arg;
	struct snapshot_qp *out;
	bool locked;

	if (!grow(l))
		return;
	out = &l->all->qp[l->all->count];
	memset(out, 0, sizeof(*out));
	out->qpn = qp->pub.qpn;
	out->type = (uint8_t)qp->pub.type;
	locked = lock(&qp->pub.lock, TURNS);
	/* Inside of the epoch section a queue pair that is not dying keeps its queues and its context. */
	if (!qp->dying) {
		memcpy(out->adapter, qp->pub.ctx->adapter->name, sizeof(out->adapter));
		out->state = (uint8_t)qp->pub.state;
		out->flags = locked ? 0 : SNAPSHOT_UNLOCKED;
		take_path(qp, out);
		take_sends(qp, out, locked);
		take_receives(qp, out);
		take_cq(qp->pub.send_cq, &out->send_cq);
		take_cq(qp->pub.recv_cq, &out->recv_cq);
		take_traffic(qp, out);
		take_troubles(qp, out);
		l->all->count++;
	}
	if (locked)
		fabric_unlock(&qp->pub.lock);
}

struct snapshot *snapshot_take(void)
{
	struct list l = { 0 };

	l.all = calloc(1, sizeof(*l.all));
	if (!l.all)
		return NULL;
	*l.all = (struct snapshot){ .magic = SNAPSHOT_MAGIC,
				    .version = SNAPSHOT_VERSION,
				    .qp_size = sizeof(struct snapshot_qp),
				    .taken_ns = hca_now_ns(),
				    .pid = (uint32_t)getpid() };
	qp_for_each(take_qp, &l);
	return l.all;
}

int snapshot_describe(void)
{
	struct snapshot *s = snapshot_take();
	int fd;

	if (!s)
		return -1;
	fd = memfd_create("verbena-snapshot", MFD_CLOEXEC);
	if (fd >= 0 && file_write_at(fd, s, sizeof(*s) + s->count * sizeof(s->qp[0]), 0)) {
		close(fd);
		fd = -1;
	}
	free(s);
	return fd;
}
