/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Job j is slots 2j (READ) and 2j + 1 (FIN, which a fence keeps behind the data) of the queue. Slots are decoded
 * again whenever a request is sent again, so a job stays until its FIN is complete.
 */
#include "hca/transport/tag_sq.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hca/queue/cq.h"

#define JOBS_FIRST 16u

struct tag_sq {
	struct hca_format format; /* the queue pair's, but for the send queue */
	struct tag_job *jobs;
	uint32_t size;       /* a power of two */
	uint32_t head, tail; /* free running */
};

static struct tag_job *job_at(const struct tag_sq *sq, uint32_t j)
{
	return &sq->jobs[j & (sq->size - 1)];
}

static bool ready(const struct hca_sq_ring *ring, uint32_t index, uint32_t producer)
{
	const struct tag_sq *sq = ring->buf;

	return (int32_t)(2 * sq->tail - index) > 0;
}

static uint32_t no_producer(const struct hca_sq_ring *ring)
{
	return 0;
}

static void decode(const struct hca_qp *qp, uint32_t index, struct hca_send *out)
{
	const struct tag_sq *sq = qp->sq.buf;
	struct tag_job *job = job_at(sq, index / 2);
	bool fin = index & 1;

	memset(out, 0, offsetof(struct hca_send, sge));
	out->op = fin ? HCA_OP_SEND : HCA_OP_READ;
	out->signaled = true;
	out->fence = fin;
	out->blocks = 1;
	out->counter = (uint16_t)index;
	out->raddr = job->va;
	out->rkey = job->rkey;
	out->sge_count = fin || job->to.len ? 1 : 0;
	out->sge[0] = fin ? (struct hca_sge){ .addr = (uintptr_t)job->fin,
					      .len = TAG_FIN_BYTES,
					      .key = HCA_KEY_INLINE }
			  : job->to;
	out->length = fin ? TAG_FIN_BYTES : job->to.len;
}

int tag_sq_init(struct qp *qp)
{
	struct tag_sq *sq;

	if (qp->pub.type != HCA_QP_RC || qp->pub.sq.size || !qp->pub.srq ||
	    qp->pub.srq->type != HCA_SRQ_TAG)
		return 0;
	sq = calloc(1, sizeof(*sq));
	if (!sq)
		return -ENOMEM;
	sq->format = *qp->pub.format;
	sq->format.sq_index_mask = 0;
	sq->format.sq_ready = ready;
	sq->format.sq_producer = no_producer;
	sq->format.sq_decode = decode;
	qp->tag_sq = sq;
	qp->pub.format = &sq->format;
	qp->pub.sq = (struct hca_sq_ring){ .buf = sq };
	return 0;
}

void tag_sq_fini(struct qp *qp)
{
	if (!qp->tag_sq)
		return;
	free(qp->tag_sq->jobs);
	free(qp->tag_sq);
}

void tag_sq_reset(struct tag_sq *sq)
{
	sq->head = sq->tail = 0;
}

static bool grow(struct tag_sq *sq)
{
	uint32_t size = sq->size ? 2 * sq->size : JOBS_FIRST;
	struct tag_job *jobs = malloc(size * sizeof(*jobs));

	if (!jobs)
		return false;
	for (uint32_t j = sq->head; j != sq->tail; j++)
		jobs[j & (size - 1)] = *job_at(sq, j);
	free(sq->jobs);
	sq->jobs = jobs;
	sq->size = size;
	return true;
}

bool tag_sq_add(struct tag_sq *sq, const struct tag_job *job)
{
	if (sq->tail - sq->head == sq->size && !grow(sq))
		return false;
	*job_at(sq, sq->tail) = *job;
	sq->tail++;
	return true;
}

void tag_sq_done(struct qp *qp, uint32_t index, bool good)
{
	struct tag_sq *sq = qp->tag_sq;
	const struct tag_job *job = job_at(sq, index / 2);
	struct hca_tm_info info = { .what = good ? HCA_TM_EXPECTED : HCA_TM_CANCELED,
				    .index = job->index };
	struct hca_cqe cqe = {
		.is_recv = true,
		.qpn = qp->pub.qpn,
		.srqn = qp->pub.srq->srqn,
		.user_index = qp->pub.srq->user_index,
		.byte_len = good ? job->to.len : 0,
		.tm = &info,
	};

	if (index & 1)
		sq->head++;
	else
		hca_cq_add(qp->pub.srq->cq, &cqe);
}
