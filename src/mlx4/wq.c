/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Work queues. A ConnectX-3 knows no such thing: they are queue pairs that only receive, with a
 * send queue of one slot, and so they look in memory.
 */
#include <errno.h>
#include <stdlib.h>

#include "mlx4/format.h"
#include "mlx4/geometry.h"
#include "mlx4/mlx4.h"
#include "util/explain.h"

#define SQ_BYTES 64u

#define HASH_IPV4 (IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4)
#define HASH_IPV6 (IBV_RX_HASH_SRC_IPV6 | IBV_RX_HASH_DST_IPV6)
#define HASH_TCP  (IBV_RX_HASH_SRC_PORT_TCP | IBV_RX_HASH_DST_PORT_TCP)
#define HASH_UDP  (IBV_RX_HASH_SRC_PORT_UDP | IBV_RX_HASH_DST_PORT_UDP)

static bool is_half(uint64_t fields, uint64_t pair)
{
	return fields & pair && (fields & pair) != pair;
}

/* Source and destination go together, and ports only with addresses. */
int mlx4_check_hash(const struct ibv_rx_hash_conf *conf)
{
	const uint64_t known = HASH_IPV4 | HASH_IPV6 | HASH_TCP | HASH_UDP;
	uint64_t fields = conf->rx_hash_fields_mask;

	if (fields & ~known || is_half(fields, HASH_IPV4) || is_half(fields, HASH_IPV6) ||
	    is_half(fields, HASH_TCP) || is_half(fields, HASH_UDP) ||
	    (fields & (HASH_TCP | HASH_UDP) && !(fields & (HASH_IPV4 | HASH_IPV6))))
		return explain(EOPNOTSUPP,
			       "rx_hash_fields_mask 0x%llx: this adapter hashes source and "
			       "destination together, and ports with addresses, out of 0x%llx",
			       (unsigned long long)fields, (unsigned long long)known);
	return 0;
}

static int alloc_queue(struct mlx4_context *ctx, const struct ibv_wq_init_attr *attr,
		       struct mlx4_qp **out)
{
	struct vb_pd *pd = to_pd(attr->pd);
	struct mlx4_qp *q = calloc(1, sizeof(*q));
	struct mlx4_rq *rq;
	uint32_t sges;
	int err;

	if (!q)
		return -ENOMEM;
	rq = &q->rq;
	q->ctx = ctx;
	q->type = HCA_QP_RAW;
	q->recv_cq = to_mcq(attr->cq);
	sges = mlx4_pow2_up(attr->max_sge ? attr->max_sge : 1);
	rq->max_post = mlx4_pow2_up(attr->max_wr);
	rq->mask = rq->max_post - 1;
	rq->max_sge = sges;
	rq->shift = __builtin_ctz(sges * sizeof(struct mlx4_wqe_data_seg));
	err = verbena_buf_alloc(&ctx->memory, pd, ((size_t)rq->max_post << rq->shift) + SQ_BYTES, 0,
				&q->buf);
	if (err)
		goto free_queue;
	err = verbena_record_alloc(&ctx->memory, pd, 0, &q->record);
	if (err)
		goto free_buf;
	rq->wr_ids = calloc(rq->max_post, sizeof(*rq->wr_ids));
	if (!rq->wr_ids) {
		err = -ENOMEM;
		goto free_record;
	}
	/* The queue with the longer entries comes first. */
	rq->buf = (uint8_t *)q->buf.addr + (1u << rq->shift > SQ_BYTES ? 0 : SQ_BYTES);
	q->db = q->record.addr;
	*out = q;
	return 0;

free_record:
	verbena_buf_free(&ctx->memory, &q->record);
free_buf:
	verbena_buf_free(&ctx->memory, &q->buf);
free_queue:
	free(q);
	return err;
}

static void free_queue(struct mlx4_qp *q)
{
	free(q->rq.wr_ids);
	verbena_buf_free(&q->ctx->memory, &q->record);
	verbena_buf_free(&q->ctx->memory, &q->buf);
	free(q);
}

int mlx4_create_wq(struct vb_context *vb, struct ibv_wq_init_attr *attr, const void *driver_attr,
		   struct vb_wq **out)
{
	struct hca_wq_init init = { 0 };
	struct mlx4_wq *wq;
	struct mlx4_qp *q;
	int err;

	if (attr->create_flags & ~(uint32_t)IBV_WQ_FLAGS_SCATTER_FCS)
		return explain(EOPNOTSUPP,
			       "ibv_create_wq: create_flags 0x%x; this adapter has 0x%x",
			       attr->create_flags, IBV_WQ_FLAGS_SCATTER_FCS);
	wq = calloc(1, sizeof(*wq));
	if (!wq)
		return -ENOMEM;
	err = alloc_queue(mlx4_ctx(vb), attr, &wq->queue);
	if (err)
		goto free_wq;
	q = wq->queue;
	init.pd = to_pd(attr->pd)->hca;
	init.cq = to_cq(attr->cq)->hca;
	init.format = &mlx4_format;
	init.ring = (struct hca_rq_ring){ .buf = q->rq.buf,
					  .size = q->rq.max_post,
					  .slot_shift = q->rq.shift,
					  .max_sge = q->rq.max_sge,
					  .db = q->db };
	init.flags = attr->create_flags;
	init.user = &wq->vb.wq;
	err = hca_wq_create(&init, &wq->vb.hca);
	if (err)
		goto free_queue;
	q->qpn = wq->vb.hca->wqn;
	err = hca_table_set(&q->ctx->qps, q->qpn, q);
	if (err)
		goto destroy;
	wq->vb.wq.post_recv = mlx4_post_wq_recv;
	attr->max_wr = q->rq.max_post;
	attr->max_sge = q->rq.max_sge;
	*out = &wq->vb;
	return 0;

destroy:
	hca_wq_destroy(wq->vb.hca);
free_queue:
	free_queue(wq->queue);
free_wq:
	free(wq);
	return err;
}

int mlx4_destroy_wq(struct vb_wq *vb)
{
	struct mlx4_wq *wq = container_of(vb, struct mlx4_wq, vb);
	struct mlx4_qp *q = wq->queue;
	int err = hca_wq_destroy(vb->hca);

	if (err)
		return err;
	mlx4_cq_purge(q->recv_cq, q, NULL);
	hca_table_set(&q->ctx->qps, q->qpn, NULL);
	free_queue(q);
	return 0;
}

void mlx4_reset_wq(struct vb_wq *vb)
{
	struct mlx4_qp *q = container_of(vb, struct mlx4_wq, vb)->queue;

	mlx4_cq_purge(q->recv_cq, q, NULL);
	fabric_lock(&q->rq_lock);
	q->rq.head = 0;
	atomic_store_explicit(&q->rq.tail, 0, memory_order_relaxed);
	mlx4_record_store(q->db, 0);
	fabric_unlock(&q->rq_lock);
}
