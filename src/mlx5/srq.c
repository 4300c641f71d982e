/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared receive queues. Entries form one chain through their link segments: first those that were
 * posted, which the adapter takes from the front, then the free ones from `head` to `tail`. Posting
 * moves head; completing appends the entry behind tail. One entry always stays free, so that every
 * posted one has a valid link.
 */
#include <errno.h>
#include <stdlib.h>

#include "mlx5/format.h"
#include "mlx5/geometry.h"
#include "mlx5/mlx5.h"
#include "mlx5/recv.h"
#include "util/explain.h"

#define ENTRY_MIN 32u

static struct mlx5_wqe_srq_next_seg *entry_at(const struct mlx5_srq *srq, uint32_t index)
{
	return (void *)(srq->entries + ((size_t)index << srq->shift));
}

/* Relaxed atomics: the adapter follows links of posted entries only, under its own lock. */
static void set_link(struct mlx5_srq *srq, uint32_t index, uint16_t next)
{
	__atomic_store_n(&entry_at(srq, index)->next_wqe_index, htobe16(next), __ATOMIC_RELAXED);
}

void mlx5_srq_free_entry(struct mlx5_srq *srq, uint16_t index)
{
	index &= srq->size - 1;
	fabric_lock(&srq->lock);
	set_link(srq, srq->tail, index);
	srq->tail = index;
	fabric_unlock(&srq->lock);
}

static int post_one(struct mlx5_srq *srq, const struct ibv_recv_wr *wr)
{
	struct mlx5_wqe_srq_next_seg *entry = entry_at(srq, srq->head);
	struct mlx5_wqe_data_seg *seg = (void *)(entry + 1);

	if (unlikely(wr->num_sge < 0 || wr->num_sge > srq->max_sge))
		return -explain(EINVAL, "SRQ 0x%x: %d elements in a receive; it was made for %d",
				srq->vb.hca->srqn, wr->num_sge, srq->max_sge);
	if (unlikely(srq->head == srq->tail))
		return -explain(ENOMEM, "SRQ 0x%x is full: %u receives are posted",
				srq->vb.hca->srqn, srq->size - 1);
	mlx5_put_scatter(seg, wr, srq->max_sge);
	srq->wr_ids[srq->head] = wr->wr_id;
	srq->head = be16toh(entry->next_wqe_index);
	srq->counter++;
	return 0;
}

int mlx5_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct mlx5_srq *srq = to_msrq(ibsrq);
	uint16_t before;
	int err = 0;

	fabric_lock(&srq->lock);
	before = srq->counter;
	for (; wr; wr = wr->next) {
		err = post_one(srq, wr);
		if (unlikely(err)) {
			*bad = wr;
			break;
		}
	}
	if (likely(srq->counter != before))
		mlx5_record_store(srq->db, srq->counter);
	fabric_unlock(&srq->lock);
	return err;
}

int mlx5_get_srq_num(struct ibv_srq *srq, uint32_t *number)
{
	*number = to_srq(srq)->hca->srqn;
	return 0;
}

static int check_sizes(struct vb_context *ctx, const struct ibv_srq_attr *attr)
{
	const struct hca_limits *limits = &ctx->adapter->limits;

	if (attr->max_wr > limits->max_srq_wr)
		return explain(EINVAL, "max_wr %u of an SRQ; %s has at most %llu", attr->max_wr,
			       ctx->adapter->name, (unsigned long long)limits->max_srq_wr);
	if (attr->max_sge > limits->max_srq_sge)
		return explain(EINVAL, "max_sge %u of an SRQ; %s has at most %llu", attr->max_sge,
			       ctx->adapter->name, (unsigned long long)limits->max_srq_sge);
	return 0;
}

static int alloc_rings(struct mlx5_context *ctx, struct vb_pd *pd, struct mlx5_srq *srq,
		       const struct ibv_srq_attr *attr)
{
	uint32_t bytes = sizeof(struct mlx5_wqe_srq_next_seg) + attr->max_sge * MLX5_DS;
	int err;

	bytes = mlx5_pow2_up(bytes < ENTRY_MIN ? ENTRY_MIN : bytes);
	srq->shift = __builtin_ctz(bytes);
	srq->max_sge = bytes / MLX5_DS - 1;
	srq->size = mlx5_pow2_up(attr->max_wr + 1);
	err = verbena_buf_alloc(&ctx->memory, pd, (size_t)srq->size << srq->shift,
				MLX5DV_RES_TYPE_SRQ, &srq->buf);
	if (err)
		return err;
	err = verbena_record_alloc(&ctx->memory, pd, MLX5DV_RES_TYPE_DBR, &srq->record);
	if (err)
		goto free_buf;
	srq->wr_ids = calloc(srq->size, sizeof(*srq->wr_ids));
	if (!srq->wr_ids) {
		err = -ENOMEM;
		goto free_record;
	}
	srq->entries = srq->buf.addr;
	srq->db = srq->record.addr;
	srq->head = 0;
	srq->tail = srq->size - 1;
	for (uint32_t i = 0; i < srq->size; i++)
		set_link(srq, i, (i + 1) & (srq->size - 1));
	return 0;

free_record:
	verbena_buf_free(&ctx->memory, &srq->record);
free_buf:
	verbena_buf_free(&ctx->memory, &srq->buf);
	return err;
}

static void free_rings(struct mlx5_context *ctx, struct mlx5_srq *srq)
{
	free(srq->wr_ids);
	verbena_buf_free(&ctx->memory, &srq->record);
	verbena_buf_free(&ctx->memory, &srq->buf);
}

int mlx5_create_srq(struct vb_context *vb, struct ibv_srq_init_attr_ex *attr, struct vb_srq **out)
{
	bool xrc = attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE && attr->srq_type == IBV_SRQT_XRC;
	struct mlx5_context *ctx = mlx5_ctx(vb);
	struct hca_srq_init init = { 0 };
	struct mlx5_srq *srq;
	int err;

	if (attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE && attr->srq_type == IBV_SRQT_TM)
		return explain(EOPNOTSUPP, "tag matching in the adapter is not offered");
	err = check_sizes(vb, &attr->attr);
	if (err)
		return err;
	srq = calloc(1, sizeof(*srq));
	if (!srq)
		return -ENOMEM;
	err = alloc_rings(ctx, to_pd(attr->pd), srq, &attr->attr);
	if (err)
		goto free_srq;
	srq->ctx = ctx;
	srq->rsc.type = MLX5_RSC_SRQ;
	err = mlx5_table_add(&ctx->table, &srq->rsc);
	if (err)
		goto free_rings;
	init.pd = to_pd(attr->pd)->hca;
	init.format = &mlx5_format;
	init.type = xrc ? HCA_SRQ_XRC : HCA_SRQ_BASIC;
	init.ring = (struct hca_rq_ring){ .buf = srq->entries,
					  .size = srq->size,
					  .slot_shift = srq->shift,
					  .max_sge = srq->max_sge,
					  .signature = true,
					  .db = srq->db };
	if (xrc) {
		init.cq = to_cq(attr->cq)->hca;
		init.xrcd = to_xrcd(attr->xrcd)->number;
	}
	init.user_index = srq->rsc.index;
	init.user = &srq->vb.srq;
	err = hca_srq_create(&init, &srq->vb.hca);
	if (err)
		goto remove;
	if (xrc)
		srq->cq = to_mcq(attr->cq);
	attr->attr.max_wr = srq->size - 1;
	attr->attr.max_sge = srq->max_sge;
	*out = &srq->vb;
	return 0;

remove:
	mlx5_table_remove(&ctx->table, &srq->rsc);
free_rings:
	free_rings(ctx, srq);
free_srq:
	free(srq);
	return err;
}

int mlx5_destroy_srq(struct vb_srq *vb)
{
	struct mlx5_srq *srq = container_of(vb, struct mlx5_srq, vb);
	struct mlx5_context *ctx = srq->ctx;
	int err = hca_srq_destroy(vb->hca);

	if (err)
		return err;
	if (srq->cq)
		mlx5_cq_purge(srq->cq, &srq->rsc, NULL);
	mlx5_table_remove(&ctx->table, &srq->rsc);
	free_rings(ctx, srq);
	return 0;
}
