/* SPDX-License-Identifier: BSD-2-Clause */
#include "check/queue.h"

#include <stdio.h>
#include <stdlib.h>

#include "check/object.h"
#include "check/report.h"
#include "check/state.h"

void check_cq_created(struct vb_cq *cq, uint32_t flags)
{
	struct check_cq *c = calloc(1, sizeof(*c));

	if (!c)
		return;
	c->cq = cq;
	c->flags = flags;
	c->created = check_object_place(&cq->own);
	cq->hca->checked = c;
	pthread_mutex_lock(&check.queue_lock);
	LIST_INSERT_HEAD(&check.cqs, c, entry);
	pthread_mutex_unlock(&check.queue_lock);
	cq->watch = c;
}

void check_cq_destroyed(struct vb_cq *cq)
{
	struct check_cq *c = cq->watch;
	struct check_srq *s;

	if (!c)
		return;
	cq->watch = NULL;
	pthread_mutex_lock(&check.queue_lock);
	LIST_REMOVE(c, entry);
	LIST_FOREACH(s, &check.srqs, entry) {
		pthread_mutex_lock(&s->lock);
		if (s->cq == c)
			s->cq = NULL;
		pthread_mutex_unlock(&s->lock);
	}
	pthread_mutex_unlock(&check.queue_lock);
	free(c);
}

void check_srq_created(struct vb_srq *srq)
{
	struct check_srq *s = calloc(1, sizeof(*s));

	if (!s)
		return;
	if (check_ring_init(&s->recv, srq->max_wr)) {
		free(s);
		return;
	}
	s->srq = srq;
	s->fewest = UINT32_MAX;
	pthread_mutex_init(&s->lock, NULL);
	pthread_mutex_lock(&check.queue_lock);
	LIST_INSERT_HEAD(&check.srqs, s, entry);
	pthread_mutex_unlock(&check.queue_lock);
	srq->watch = s;
}

/* Of all queue pairs of the SRQ, which are gone by now. */
static void tell_srq_dry(struct check_srq *s)
{
	unsigned int dry = atomic_load(&s->dry);
	struct check_report r = { .kind = CHECK_SRQ_DRY,
				  .stacks[0] = { "SRQ created at",
						 check_object_place(&s->srq->own) } };

	if (!dry || !r.stacks[0].place)
		return;
	snprintf(r.text, sizeof(r.text),
		 "%u time%s a message found no receive in an SRQ of %u; %llu messages found one, "
		 "and "
		 "the worst of them left %u. %s",
		 dry, dry == 1 ? "" : "s", s->srq->max_wr, (unsigned long long)s->received,
		 s->received ? s->fewest : 0,
		 s->limit ? "Its limit is still armed." : "No limit is armed.");
	check_report(&r);
}

void check_srq_destroyed(struct vb_srq *srq)
{
	struct check_srq *s = srq->watch;

	if (!s)
		return;
	tell_srq_dry(s);
	srq->watch = NULL;
	pthread_mutex_lock(&check.queue_lock);
	LIST_REMOVE(s, entry);
	pthread_mutex_unlock(&check.queue_lock);
	if (s->cq)
		atomic_fetch_sub(&s->cq->pending, (int)(s->recv.head - s->recv.tail));
	pthread_mutex_destroy(&s->lock);
	check_ring_fini(&s->recv);
	free(s);
}

static struct check_cq *watch_of(struct ibv_cq *cq)
{
	return cq ? to_cq(cq)->watch : NULL;
}

/* An SRQ whose QPs have one CQ fills that one; with several, where a completion goes is open. */
static void join_srq(struct check_qp *q)
{
	struct check_srq *s = q->srq;

	pthread_mutex_lock(&s->lock);
	if (!s->several && !s->cq && q->recv_cq) {
		s->cq = q->recv_cq;
		atomic_fetch_add(&s->cq->pending, (int)(s->recv.head - s->recv.tail));
	} else if (s->cq != q->recv_cq) {
		if (s->cq)
			atomic_fetch_sub(&s->cq->pending, (int)(s->recv.head - s->recv.tail));
		s->several = true;
		s->cq = NULL;
	}
	pthread_mutex_unlock(&s->lock);
}

static struct check_qp *take_struct(void)
{
	struct check_qp *q;

	pthread_mutex_lock(&check.queue_lock);
	q = LIST_FIRST(&check.free_qps);
	if (q)
		LIST_REMOVE(q, entry);
	pthread_mutex_unlock(&check.queue_lock);
	if (!q) {
		q = calloc(1, sizeof(*q));
		if (q)
			pthread_mutex_init(&q->lock, NULL);
	}
	return q;
}

static void fill(struct check_qp *q, struct vb_qp *qp, const void *driver_attr)
{
	pthread_mutex_lock(&q->lock);
	q->qp = qp;
	q->adapter = to_context(qp->qp.context)->adapter;
	q->number = qp->qp.qp_num;
	q->send_cq = watch_of(qp->qp.send_cq);
	q->recv_cq = watch_of(qp->qp.recv_cq);
	q->srq = qp->qp.srq ? to_srq(qp->qp.srq)->watch : NULL;
	q->td = qp->pd ? qp->pd->td : NULL;
	q->pd = qp->pd;
	q->send_region = q->recv_region = (struct check_region_cache){ 0 };
	q->max_inline = qp->cap.max_inline_data;
	q->sig_all = qp->sig_all;
	q->datagrams = qp->qp.qp_type == IBV_QPT_UD;
	/* Requests of the driver's own calls, and frames of raw queues, are not followed. */
	q->lost = driver_attr || (qp->qp.qp_type != IBV_QPT_RC && qp->qp.qp_type != IBV_QPT_UC &&
				  qp->qp.qp_type != IBV_QPT_UD);
	q->alive = false;
	q->unsignaled = q->reads_end = 0;
	q->fewest = UINT32_MAX;
	q->received = 0;
	q->ends = (struct check_ends){ 0 };
	q->batch = 0;
	q->created = check_object_place(&qp->own);
	q->recv_base = 0;
	q->raw = (struct check_raw){ 0 };
	q->counters = calloc(1, sizeof(*q->counters));
	if (q->counters) {
		atomic_init(&q->counters->refs, 1);
		hca_qp_set_counters(qp->hca, q->counters);
	}
	if (!q->lost && (check_ring_init(&q->send, qp->cap.max_send_wr) ||
			 check_ring_init(&q->recv, qp->cap.max_recv_wr)))
		q->lost = true;
	qp->hca->checked = q;
	pthread_mutex_unlock(&q->lock);
}

void check_qp_created(struct vb_qp *qp, const void *driver_attr)
{
	struct check_qp *q = take_struct();

	if (!q)
		return;
	fill(q, qp, driver_attr);
	if (q->srq && !q->lost)
		join_srq(q);
	pthread_mutex_lock(&check.queue_lock);
	LIST_INSERT_HEAD(&check.qps, q, entry);
	hash_add(&check.qp_numbers, &q->link, q->number);
	pthread_mutex_unlock(&check.queue_lock);
	qp->watch = q;
}

void check_qp_forget(struct check_qp *q)
{
	int sends = 0;

	for (uint32_t i = q->send.tail; i != q->send.head; i++)
		sends += check_ring_at(&q->send, i)->signaled;
	if (q->send_cq)
		atomic_fetch_sub(&q->send_cq->pending, sends);
	if (q->recv_cq)
		atomic_fetch_sub(&q->recv_cq->pending, (int)(q->recv.head - q->recv.tail));
	atomic_store_explicit(&q->raw.restarted, true, memory_order_relaxed);
	q->send.tail = q->send.head;
	q->recv.tail = q->recv_base = q->recv.head;
	q->unsignaled = 0;
}

static void tell_dry(const struct check_qp *q, const struct check_place *created)
{
	uint32_t dry = q->counters ? atomic_load(&q->counters->n[HCA_COUNT_OUT_OF_BUFFER]) : 0;
	struct check_report r = { .kind = CHECK_RECEIVE_QUEUE_DRY,
				  .stacks[0] = { "QP created at", created } };

	if (dry && q->srq) {
		atomic_fetch_add(&q->srq->dry, dry);
		q->srq->limit = hca_srq_limit(q->srq->srq->hca);
	}
	if (!dry || !created || q->srq)
		return;
	snprintf(r.text, sizeof(r.text),
		 "%u time%s a message came to QP 0x%06x and found no receive; %llu messages found "
		 "one, and "
		 "the worst of them left %u.",
		 dry, dry == 1 ? "" : "s", q->number, (unsigned long long)q->received,
		 q->received ? q->fewest : 0);
	check_report(&r);
}

void check_qp_destroyed(struct vb_qp *qp)
{
	struct check_qp *q = qp->watch;

	if (!q)
		return;
	qp->watch = NULL;
	pthread_mutex_lock(&check.queue_lock);
	LIST_REMOVE(q, entry);
	hash_remove(&check.qp_numbers, &q->link);
	pthread_mutex_unlock(&check.queue_lock);
	tell_dry(q, check_object_place(&qp->own));
	pthread_mutex_lock(&q->lock);
	check_qp_forget(q);
	hca_counters_put(q->counters);
	q->counters = NULL;
	q->qp = NULL;
	check_ring_fini(&q->send);
	check_ring_fini(&q->recv);
	free(q->raw.copy);
	q->raw.copy = NULL;
	pthread_mutex_unlock(&q->lock);
	pthread_mutex_lock(&check.queue_lock);
	LIST_INSERT_HEAD(&check.free_qps, q, entry);
	pthread_mutex_unlock(&check.queue_lock);
}

struct check_qp *check_qp_find(const struct hca_adapter *adapter, uint32_t number)
{
	struct check_qp *found = NULL;
	struct hash_link *link;

	pthread_mutex_lock(&check.queue_lock);
	for (link = hash_find(&check.qp_numbers, number); link && !found; link = hash_next(link)) {
		struct check_qp *q = container_of(link, struct check_qp, link);

		if (q->adapter == adapter)
			found = q;
	}
	pthread_mutex_unlock(&check.queue_lock);
	return found;
}

bool check_queues_used(const struct check_request *r, bool read)
{
	struct check_qp *q;
	struct check_srq *s;
	bool used = false;

	pthread_mutex_lock(&check.queue_lock);
	LIST_FOREACH(q, &check.qps, entry) {
		pthread_mutex_lock(&q->lock);
		used = used || q->lost || check_ring_horizon(&q->recv) > r->posted ||
		       check_ring_horizon(&q->send) > r->posted ||
		       check_ring_used(&q->recv, r, read) || check_ring_used(&q->send, r, read);
		pthread_mutex_unlock(&q->lock);
	}
	LIST_FOREACH(s, &check.srqs, entry) {
		pthread_mutex_lock(&s->lock);
		used = used || check_ring_horizon(&s->recv) > r->posted ||
		       check_ring_used(&s->recv, r, read);
		pthread_mutex_unlock(&s->lock);
	}
	pthread_mutex_unlock(&check.queue_lock);
	return used;
}

static bool each_of(const struct check_qp *q, const struct check_ring *ring,
		    bool (*fn)(const struct check_qp *qp, const struct check_request *r, void *arg),
		    void *arg)
{
	for (uint32_t i = ring->tail; i != ring->head; i++)
		if (fn(q, check_ring_at(ring, i), arg))
			return true;
	return false;
}

bool check_queues_each(bool (*fn)(const struct check_qp *qp, const struct check_request *r,
				  void *arg),
		       void *arg)
{
	struct check_srq *s;
	struct check_qp *q;
	bool done = false;

	pthread_mutex_lock(&check.queue_lock);
	LIST_FOREACH(q, &check.qps, entry) {
		pthread_mutex_lock(&q->lock);
		done = done || each_of(q, &q->send, fn, arg) || each_of(q, &q->recv, fn, arg);
		pthread_mutex_unlock(&q->lock);
	}
	LIST_FOREACH(s, &check.srqs, entry) {
		pthread_mutex_lock(&s->lock);
		done = done || each_of(NULL, &s->recv, fn, arg);
		pthread_mutex_unlock(&s->lock);
	}
	pthread_mutex_unlock(&check.queue_lock);
	return done;
}
