/* SPDX-License-Identifier: BSD-2-Clause */
#include "trace/post.h"

#include "hca/transport/hca_qp.h"
#include "trace/chunk.h"
#include "trace/context.h"
#include "trace/queue.h"

static void end(enum trace_kind kind, uint32_t number, int err)
{
	struct trace_record *r = trace_get();

	if (!r)
		return;
	r->qpn = number;
	r->status = (uint16_t)err;
	trace_put(r, kind);
}

static void begin_send(uint32_t qpn, unsigned int count, uint64_t wr_id)
{
	struct trace_record *r = trace_get();

	if (!r)
		return;
	r->qpn = qpn;
	r->count = (uint16_t)count;
	r->wr_id = wr_id;
	trace_put(r, TRACE_SEND_BEGIN);
}

int trace_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	unsigned int count = 0;
	int err;

	for (const struct ibv_send_wr *w = wr; w; w = w->next)
		count++;
	begin_send(qp->qp_num, count, wr ? wr->wr_id : 0);
	err = trace_driver_of(qp->context)->post_send(qp, wr, bad);
	end(TRACE_SEND_END, qp->qp_num, err);
	return err;
}

static unsigned int count_receives(const struct ibv_recv_wr *wr)
{
	unsigned int count = 0;

	for (; wr; wr = wr->next)
		count++;
	return count;
}

int trace_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	const struct hca_qp *hca = to_qp(qp)->hca;
	struct trace_record *r = trace_get();
	int err;

	if (r) {
		r->qpn = qp->qp_num;
		r->count = (uint16_t)count_receives(wr);
		r->wr_id = wr ? wr->wr_id : 0;
		r->index = hca->rq.size ? hca->format->rq_producer(&hca->rq) & 0xffff : 0;
		trace_put(r, TRACE_RECV_BEGIN);
	}
	err = trace_driver_of(qp->context)->post_recv(qp, wr, bad);
	end(TRACE_RECV_END, qp->qp_num, err);
	return err;
}

static void note_entries(uint32_t srqn, const struct ibv_recv_wr *wr)
{
	for (; wr; wr = wr->next) {
		struct trace_record *r = trace_get();

		if (!r)
			return;
		r->qpn = srqn;
		r->wr_id = wr->wr_id;
		trace_put(r, TRACE_SRQ_WR);
	}
}

int trace_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	uint32_t srqn = to_srq(srq)->hca->srqn;
	struct trace_record *r = trace_get();
	int err;

	if (r) {
		r->qpn = srqn;
		r->count = (uint16_t)count_receives(wr);
		trace_put(r, TRACE_SRQ_BEGIN);
		/* Before the adapter can take them. */
		note_entries(srqn, wr);
	}
	err = trace_driver_of(srq->context)->post_srq_recv(srq, wr, bad);
	end(TRACE_SRQ_END, srqn, err);
	return err;
}

/* ---- ibv_wr_start() to ibv_wr_complete() ---- */

static const struct ibv_qp_ex *driver_of(struct ibv_qp_ex *qp)
{
	return &((struct trace_qp *)to_qp(&qp->qp_base)->watch)->ex;
}

static void wr_start(struct ibv_qp_ex *qp)
{
	begin_send(qp->qp_base.qp_num, 0, 0);
	driver_of(qp)->wr_start(qp);
}

static int wr_complete(struct ibv_qp_ex *qp)
{
	int err = driver_of(qp)->wr_complete(qp);

	end(TRACE_SEND_END, qp->qp_base.qp_num, err);
	return err;
}

static void wr_abort(struct ibv_qp_ex *qp)
{
	driver_of(qp)->wr_abort(qp);
	end(TRACE_SEND_END, qp->qp_base.qp_num, 0);
}

void trace_post_wrap(struct vb_qp *qp)
{
	struct trace_qp *q = qp->watch;

	q->ex = qp->ex;
	qp->ex.wr_start = wr_start;
	qp->ex.wr_complete = wr_complete;
	qp->ex.wr_abort = wr_abort;
}
