/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A ConnectX-3 has no work queues: the format has QPs that only receive, with a send queue of one
 * slot in front of or behind the receive queue.
 */
#include "mlx4/wq.h"

#include <errno.h>
#include <stdlib.h>

#include "hca/raw/wq.h"
#include "mlx4/format.h"
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

/* The adapter hashes source and destination together, and ports only with addresses. */
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
	uint32_t sges = drv_pow2_up(attr->max_sge ? attr->max_sge : 1);
	struct mlx4_qp *q = calloc(1, sizeof(*q));
	struct drv_rq *rq;
	int err;

	if (!q)
		return -ENOMEM;
	rq = &q->base.rq;
	q->ctx = ctx;
	q->base.type = HCA_QP_RAW;
	q->base.recv_cq = &to_mcq(attr->cq)->base;
	rq->max_post = drv_pow2_up(attr->max_wr);
	rq->mask = rq->max_post - 1;
	rq->limits = mlx4_recv_limits(sges);
	rq->is_wq = true;
	rq->shift = __builtin_ctz(sges * sizeof(struct mlx4_wqe_data_seg));
	err = drv_ring_alloc(&q->base.ring, &ctx->memory, to_pd(attr->pd),
			     ((size_t)rq->max_post << rq->shift) + SQ_BYTES,
			     (struct drv_ring_types){ 0 });
	if (err)
		goto free_queue;
	rq->wr_ids = calloc(rq->max_post, sizeof(*rq->wr_ids));
	if (!rq->wr_ids) {
		err = -ENOMEM;
		goto free_ring;
	}
	/* The queue with the longer WQEs comes first. */
	rq->buf = (uint8_t *)q->base.ring.buf.addr + (1u << rq->shift > SQ_BYTES ? 0 : SQ_BYTES);
	rq->db = q->base.ring.record.addr;
	*out = q;
	return 0;

free_ring:
	drv_ring_free(&q->base.ring);
free_queue:
	free(q);
	return err;
}

static void free_queue(struct mlx4_qp *q)
{
	free(q->base.rq.wr_ids);
	drv_ring_free(&q->base.ring);
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
	init.ring = (struct hca_rq_ring){ .buf = q->base.rq.buf,
					  .size = q->base.rq.max_post,
					  .slot_shift = q->base.rq.shift,
					  .max_sge = q->base.rq.limits.max_sge,
					  .db = q->base.rq.db };
	init.flags = attr->create_flags;
	init.user = &wq->base.vb.wq;
	err = hca_wq_create(&init, &wq->base.vb.hca);
	if (err)
		goto free_queue;
	q->base.qpn = q->base.rq.number = wq->base.vb.hca->wqn;
	err = hca_table_set(&q->ctx->qps, q->base.qpn, q);
	if (err)
		goto destroy;
	wq->base.rq = &q->base.rq;
	wq->base.vb.wq.post_recv = drv_post_wq_recv;
	attr->max_wr = q->base.rq.max_post;
	attr->max_sge = q->base.rq.limits.max_sge;
	*out = &wq->base.vb;
	return 0;

destroy:
	hca_wq_destroy(wq->base.vb.hca);
free_queue:
	free_queue(wq->queue);
free_wq:
	free(wq);
	return err;
}

int mlx4_destroy_wq(struct vb_wq *vb)
{
	struct mlx4_wq *wq = container_of(vb, struct mlx4_wq, base.vb);
	struct mlx4_qp *q = wq->queue;
	int err = hca_wq_destroy(vb->hca);

	if (err)
		return err;
	drv_qp_purge(&q->base, q);
	hca_table_set(&q->ctx->qps, q->base.qpn, NULL);
	free_queue(q);
	return 0;
}

void mlx4_reset_wq(struct vb_wq *vb)
{
	struct mlx4_qp *q = container_of(vb, struct mlx4_wq, base.vb)->queue;

	drv_qp_purge(&q->base, q);
	drv_rq_reset(&q->base.rq);
}
