/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared receive queues. Entries form one chain through their link segments: first those that were
 * posted, which the adapter takes from the front, then the free ones from `head` to `tail`. Posting
 * moves head; completing appends the entry behind tail. One entry always stays free, so that every
 * posted one has a valid link.
 */
#include <errno.h>
#include <stdlib.h>

#include "mlx4/format.h"
#include "mlx4/geometry.h"
#include "mlx4/recv.h"
#include "util/explain.h"

static struct mlx4_wqe_srq_next_seg *entry_at(const struct mlx4_srq *srq, uint32_t index)
{
	return (void *)(srq->entries + ((size_t)index << srq->shift));
}

/* Relaxed atomics: the adapter follows links of posted entries only, under its own lock. */
static void set_link(struct mlx4_srq *srq, uint32_t index, uint16_t next)
{
	__atomic_store_n(&entry_at(srq, index)->next_wqe_index, htobe16(next), __ATOMIC_RELAXED);
}

void mlx4_srq_free_entry(struct mlx4_srq *srq, uint16_t index)
{
	index &= srq->size - 1;
	fabric_lock(&srq->lock);
	set_link(srq, srq->tail, index);
	srq->tail = index;
	fabric_unlock(&srq->lock);
}

static int post_one(struct mlx4_srq *srq, const struct ibv_recv_wr *wr)
{
	struct mlx4_wqe_srq_next_seg *entry = entry_at(srq, srq->head);

	if (unlikely((uint32_t)wr->num_sge > srq->max_sge))
		return -explain(ENOMEM, "SRQ 0x%x: %d elements in a receive; it was made for %u",
				srq->srqn, wr->num_sge, srq->max_sge);
	if (unlikely(srq->head == srq->tail))
		return ENOMEM;
	mlx4_put_scatter((void *)(entry + 1), wr, srq->max_sge);
	srq->wr_ids[srq->head] = wr->wr_id;
	srq->head = be16toh(__atomic_load_n(&entry->next_wqe_index, __ATOMIC_RELAXED));
	srq->counter++;
	return 0;
}

int mlx4_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct mlx4_srq *srq = to_msrq(ibsrq);
	uint16_t before;
	int err = 0;

	fabric_lock(&srq->lock);
	before = srq->counter;
	for (; wr; wr = wr->next) {
		err = post_one(srq, wr);
		if (unlikely(err)) {
			*bad_wr = wr;
			break;
		}
	}
	if (likely(srq->counter != before))
		mlx4_record_store(srq->db, srq->counter);
	fabric_unlock(&srq->lock);
	return err;
}

static int check_attr(struct vb_context *ctx, const struct ibv_srq_init_attr_ex *attr)
{
	const struct hca_limits *limits = &ctx->adapter->limits;

	if (attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE && attr->srq_type != IBV_SRQT_BASIC &&
	    attr->srq_type != IBV_SRQT_XRC)
		return explain(EOPNOTSUPP, "SRQ type %d; this adapter has basic and XRC ones",
			       attr->srq_type);
	if (attr->attr.max_wr > limits->max_srq_wr || attr->attr.max_sge > limits->max_srq_sge)
		return explain(
			EINVAL,
			"an SRQ of %u receives with %u elements; %s has up to %llu with %llu",
			attr->attr.max_wr, attr->attr.max_sge, ctx->adapter->name,
			(unsigned long long)limits->max_srq_wr,
			(unsigned long long)limits->max_srq_sge);
	return 0;
}

static int alloc_rings(struct mlx4_srq *srq, struct vb_pd *pd, const struct ibv_srq_attr *attr)
{
	struct vb_memory *memory = &srq->ctx->memory;
	int err;

	srq->shift = mlx4_srq_shift(attr->max_sge);
	srq->max_sge = attr->max_sge;
	srq->size = mlx4_pow2_up(attr->max_wr + 1);
	err = verbena_buf_alloc(memory, pd, (size_t)srq->size << srq->shift, 0, &srq->buf);
	if (err)
		return err;
	err = verbena_record_alloc(memory, pd, 0, &srq->record);
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
	verbena_buf_free(memory, &srq->record);
free_buf:
	verbena_buf_free(memory, &srq->buf);
	return err;
}

static void free_rings(struct mlx4_srq *srq)
{
	free(srq->wr_ids);
	verbena_buf_free(&srq->ctx->memory, &srq->record);
	verbena_buf_free(&srq->ctx->memory, &srq->buf);
}

static int create_hca(struct mlx4_srq *srq, const struct ibv_srq_init_attr_ex *attr)
{
	struct hca_srq_init init = {
		.pd = to_pd(attr->pd)->hca,
		.format = &mlx4_format,
		.type = HCA_SRQ_BASIC,
		.ring = { .buf = srq->entries,
			  .size = srq->size,
			  .slot_shift = srq->shift,
			  .max_sge = srq->max_sge,
			  .signature = true,
			  .db = srq->db },
		.user = &srq->vb.srq,
	};
	int err;

	if (srq->xrc_cq) {
		init.type = HCA_SRQ_XRC;
		init.cq = srq->xrc_cq->vb.hca;
		init.xrcd = to_xrcd(attr->xrcd)->number;
	}
	err = hca_srq_create(&init, &srq->vb.hca);
	if (err)
		return err;
	srq->srqn = srq->vb.hca->srqn;
	if (!srq->xrc_cq)
		return 0;
	err = hca_table_set(&srq->ctx->srqs, srq->srqn, srq);
	if (err)
		hca_srq_destroy(srq->vb.hca);
	return err;
}

int mlx4_create_srq(struct vb_context *ctx, struct ibv_srq_init_attr_ex *attr, struct vb_srq **out)
{
	struct mlx4_srq *srq;
	int err = check_attr(ctx, attr);

	if (err)
		return err;
	srq = calloc(1, sizeof(*srq));
	if (!srq)
		return -ENOMEM;
	srq->ctx = mlx4_ctx(ctx);
	if (attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE && attr->srq_type == IBV_SRQT_XRC)
		srq->xrc_cq = to_mcq(attr->cq);
	err = alloc_rings(srq, to_pd(attr->pd), &attr->attr);
	if (err)
		goto free_srq;
	err = create_hca(srq, attr);
	if (err)
		goto free_rings;
	attr->attr.max_wr = srq->size - 1;
	*out = &srq->vb;
	return 0;

free_rings:
	free_rings(srq);
free_srq:
	free(srq);
	return err;
}

int mlx4_destroy_srq(struct vb_srq *vb)
{
	struct mlx4_srq *srq = container_of(vb, struct mlx4_srq, vb);
	int err = hca_srq_destroy(vb->hca);

	if (err)
		return err;
	if (srq->xrc_cq) {
		mlx4_cq_purge(srq->xrc_cq, NULL, srq);
		hca_table_set(&srq->ctx->srqs, srq->srqn, NULL);
	}
	free_rings(srq);
	return 0;
}
