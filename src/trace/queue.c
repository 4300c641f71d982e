/* SPDX-License-Identifier: BSD-2-Clause */
#include "trace/queue.h"

#include <stdlib.h>
#include <string.h>

#include "hca/transport/hca_qp.h"
#include "trace/chunk.h"

static struct trace_qp *qp_of(const struct hca_qp *qp)
{
	return container_of(qp->format, struct trace_qp, format);
}

/* ---- the send queue, as the adapter reads it ---- */

/*
 * A doorbell whose value is new has been rung just now, on this thread: the adapter looks at the queue's first
 * request, which may be an older one that waits.
 */
static void note_doorbell(struct trace_qp *q, const struct hca_qp *qp, uint32_t index,
			  uint32_t producer)
{
	uint32_t mask = q->driver->sq_index_mask ? q->driver->sq_index_mask : UINT32_MAX;
	uint32_t count = (producer - index) & mask, from = q->rung;
	struct trace_record *r;

	if (count - 1 >= qp->sq.size)
		count = 1; /* a doorbell without a value */
	if ((int32_t)(index + count - from) <= 0)
		return;
	if (index + count - from > qp->sq.size)
		from = index;
	q->rung = index + count;
	r = trace_get();
	if (!r)
		return;
	r->qpn = qp->qpn;
	r->index = from;
	r->length = q->rung - from;
	trace_put(r, TRACE_DOORBELL);
}

static bool sq_ready(const struct hca_sq_ring *sq, uint32_t index, uint32_t producer)
{
	const struct hca_qp *qp = container_of(sq, struct hca_qp, sq);
	struct trace_qp *q = qp_of(qp);
	bool ready = hca_sq_ready(q->driver, sq, index, producer);

	if (ready)
		note_doorbell(q, qp, index, producer);
	return ready;
}

static uint64_t wr_id_of(const struct hca_qp *qp, uint32_t counter)
{
	const char *ids = qp->wr_ids;
	uint64_t id = 0;

	if (ids)
		memcpy(&id, ids + (size_t)(counter & qp->wr_id_mask) * qp->wr_id_stride,
		       sizeof(id));
	return id;
}

static void sq_decode(const struct hca_qp *qp, uint32_t index, struct hca_send *out)
{
	struct trace_qp *q = qp_of(qp);
	struct trace_record *r;

	q->driver->sq_decode(qp, index, out);
	if ((int32_t)(index - q->fetched) < 0)
		return; /* it is sent again */
	q->fetched = index + (out->blocks ? out->blocks : 1);
	r = trace_get();
	if (!r)
		return;
	r->qpn = qp->qpn;
	r->index = index;
	r->count = out->counter;
	r->op = out->op;
	r->length = (uint32_t)out->length;
	r->wr_id = wr_id_of(qp, out->counter);
	trace_put(r, TRACE_FETCH);
}

/* ---- completions, as the adapter writes them ---- */

static void note_cqe(const struct hca_cq *cq, const struct hca_cqe *cqe)
{
	struct trace_record *r = trace_get();

	if (!r)
		return;
	r->cqn = cq->cqn;
	r->qpn = cqe->qpn;
	r->index = cqe->counter;
	r->status = (uint16_t)cqe->status;
	if (cqe->is_recv) {
		r->flags = TRACE_RECV;
		r->psn = cqe->srqn;
		r->op = (uint8_t)cqe->recv_kind;
	} else {
		r->op = (uint8_t)cqe->op;
	}
	r->length = cqe->byte_len;
	trace_put(r, TRACE_CQE);
}

static struct trace_cq *cq_of(const struct hca_cq *cq)
{
	return container_of(cq->format, struct trace_cq, format);
}

static void cqe_write(struct hca_cq *cq, uint32_t pi, const struct hca_cqe *cqe)
{
	note_cqe(cq, cqe);
	cq_of(cq)->driver->cqe_write(cq, pi, cqe);
}

static unsigned int cqe_compress(struct hca_cq *cq, uint32_t pi, const struct hca_cqe *cqe,
				 unsigned int count)
{
	unsigned int n = cq_of(cq)->driver->cqe_compress(cq, pi, cqe, count);

	for (unsigned int i = 0; i < n; i++)
		note_cqe(cq, &cqe[i]);
	return n;
}

/* ---- life ---- */

static void note_qp(const struct hca_qp *qp)
{
	struct trace_record *r = trace_get();

	if (!r)
		return;
	r->qpn = qp->qpn;
	r->op = (uint8_t)qp->type;
	r->length = qp->sq.size;
	r->index = qp->rq.size;
	r->psn = qp->srq ? qp->srq->srqn : 0;
	trace_put(r, TRACE_QP);
}

void trace_qp_created(struct vb_qp *qp, const void *driver_attr)
{
	struct hca_qp *hca = qp->hca;
	struct trace_qp *q;

	/* Without a format it is one that another process has made. */
	if (!hca || !hca->format)
		return;
	note_qp(hca);
	q = calloc(1, sizeof(*q));
	if (!q)
		return;
	q->driver = hca->format;
	q->format = *hca->format;
	q->format.sq_index_mask = 0;
	q->format.sq_ready = sq_ready;
	q->format.sq_decode = sq_decode;
	fabric_lock(&hca->lock);
	if (hca->sq.size)
		hca->format = &q->format;
	fabric_unlock(&hca->lock);
	qp->watch = q;
}

void trace_qp_modified(struct vb_qp *qp, const struct ibv_qp_attr *attr, int mask, int err)
{
	struct trace_qp *q = qp->watch;
	struct trace_record *r;

	if (!(mask & IBV_QP_STATE) || !qp->hca)
		return;
	if (!err && q && attr->qp_state == IBV_QPS_RESET) {
		fabric_lock(&qp->hca->lock);
		q->rung = q->fetched = 0;
		fabric_unlock(&qp->hca->lock);
	}
	r = trace_get();
	if (!r)
		return;
	r->qpn = qp->hca->qpn;
	r->op = (uint8_t)attr->qp_state;
	r->status = (uint16_t)-err;
	trace_put(r, TRACE_STATE);
}

void trace_qp_destroyed(struct vb_qp *qp)
{
	struct trace_record *r = trace_get();

	free(qp->watch);
	qp->watch = NULL;
	if (!r)
		return;
	r->qpn = qp->qp.qp_num;
	trace_put(r, TRACE_QP_GONE);
}

void trace_cq_created(struct vb_cq *cq, uint32_t flags)
{
	struct hca_cq *hca = cq->hca;
	struct trace_cq *c = calloc(1, sizeof(*c));

	if (!c)
		return;
	c->driver = hca->format;
	c->format = *hca->format;
	c->format.cqe_write = cqe_write;
	if (c->format.cqe_compress)
		c->format.cqe_compress = cqe_compress;
	fabric_lock(&hca->lock);
	hca->format = &c->format;
	fabric_unlock(&hca->lock);
	cq->watch = c;
}

void trace_cq_destroyed(struct vb_cq *cq)
{
	free(cq->watch);
	cq->watch = NULL;
}
