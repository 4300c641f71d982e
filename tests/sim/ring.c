/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/ring.h"

#include <stddef.h>
#include <string.h>

#include "sim/end.h"
#include "sim/sim.h"

static bool sq_ready(const struct hca_sq_ring *sq, uint32_t index, uint32_t producer)
{
	return hca_sq_posted(sq, index, producer, 0xffff);
}

static uint32_t sq_producer(const struct hca_sq_ring *sq)
{
	return ((const struct end *)sq->buf)->posted;
}

static void sq_decode(const struct hca_qp *qp, uint32_t index, struct hca_send *out)
{
	const struct end *end = qp->sq.buf;
	const struct sq_slot *s = &end->slot[index % end->slots];

	memset(out, 0, offsetof(struct hca_send, sge));
	out->op = s->op;
	out->signaled = s->signaled;
	out->solicited = s->solicited;
	out->fence = s->fence;
	out->imm = s->imm;
	out->raddr = s->raddr;
	out->rkey = s->rkey;
	out->xrc_srqn = s->xrc_srqn;
	out->compare = s->compare;
	out->swap = s->swap;
	out->feth = s->feth;
	out->dqpn = s->dqpn;
	out->qkey = s->qkey;
	out->dc_key = s->dc_key;
	out->bind = s->bind;
	out->length = s->length;
	out->counter = (uint16_t)index;
	out->blocks = 1;
	end_path(end, &s->dgid, &out->av);
	out->sge_count = (int)s->sges;
	memcpy(out->sge, s->sge, s->sges * sizeof(s->sge[0]));
}

static uint32_t rq_producer(const struct hca_rq_ring *ring)
{
	return ((const struct rq *)ring->buf)->posted;
}

static void rq_decode(const struct hca_rq_ring *ring, uint32_t index, struct hca_recv *out)
{
	const struct rq *rq = ring->buf;
	const struct recv *r = &rq->slot[index % rq->size];

	out->counter = 0;
	out->sge_count = (int)r->sges;
	memcpy(out->sge, r->sge, r->sges * sizeof(r->sge[0]));
}

static uint32_t srq_next(const struct hca_rq_ring *ring, uint32_t index)
{
	const struct rq *rq = ring->buf;

	return rq->slot[index % rq->size].next;
}

static void cqe_write(struct hca_cq *hca, uint32_t pi, const struct hca_cqe *cqe)
{
	struct cq *cq = hca->buf;

	/* `frame` is not set by senders of completions, except for raw packets. */
	memcpy(&cq->done[pi % cq->size], cqe, offsetof(struct hca_cqe, frame));
	cq->completed = pi + 1;
}

static uint32_t cq_consumer(const struct hca_cq *hca)
{
	return ((const struct cq *)hca->buf)->taken & 0xffffff;
}

const struct hca_format ring_format = {
	.sq_index_mask = 0xffff,
	.sq_ready = sq_ready,
	.sq_producer = sq_producer,
	.sq_decode = sq_decode,
	.rq_producer = rq_producer,
	.rq_decode = rq_decode,
	.srq_next = srq_next,
	.cqe_write = cqe_write,
	.cq_consumer = cq_consumer,
};
