/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Work queues: a ring of receive entries with a doorbell record of its own. Entries of a striding
 * queue start with a link segment, which nobody follows, and complete once per frame; they are free
 * again when all their strides are used.
 */
#include <errno.h>
#include <stdlib.h>

#include "mlx5/dv.h"
#include "mlx5/format.h"
#include "mlx5/geometry.h"
#include "mlx5/mlx5.h"
#include "mlx5/recv.h"
#include "util/explain.h"
#include "verbs/wq.h"

static struct mlx5_wq *to_mwq(struct ibv_wq *wq)
{
	return container_of(wq, struct mlx5_wq, vb.wq);
}

static int post_one(struct mlx5_wq *wq, const struct ibv_recv_wr *wr)
{
	struct mlx5_rq *rq = &wq->rq;
	uint32_t slot = rq->head & rq->mask;
	struct mlx5_wqe_data_seg *seg;

	if (unlikely(wr->num_sge < 0 || wr->num_sge > rq->max_sge))
		return -explain(EINVAL, "WQ 0x%06x: %d elements in a receive; it was made for %d",
				wq->vb.hca->wqn, wr->num_sge, rq->max_sge);
	/* [M4] pairs with mlx5_take_recv() */
	if (unlikely(rq->head - atomic_load_explicit(&rq->tail, memory_order_acquire) >=
		     rq->max_post))
		return -explain(ENOMEM, "WQ 0x%06x is full with %u requests", wq->vb.hca->wqn,
				rq->max_post);
	seg = (void *)(rq->buf + ((size_t)slot << rq->shift));
	seg += wq->strides != 0;
	mlx5_put_scatter(seg, wr, rq->max_sge);
	rq->wr_ids[slot] = wr->wr_id;
	rq->head++;
	return 0;
}

static int post_recv(struct ibv_wq *ibwq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct mlx5_wq *wq = to_mwq(ibwq);
	uint32_t before;
	int err = 0;

	if (unlikely(__atomic_load_n(&wq->vb.hca->state, __ATOMIC_RELAXED) == HCA_WQS_RESET)) {
		*bad = wr;
		return -explain(EINVAL,
				"WQ 0x%06x is in RESET: what is posted there is gone when it gets "
				"ready; move it to RDY first",
				wq->vb.hca->wqn);
	}
	fabric_lock(&wq->lock);
	before = wq->rq.head;
	for (; wr; wr = wr->next) {
		err = post_one(wq, wr);
		if (unlikely(err)) {
			*bad = wr;
			break;
		}
	}
	if (likely(wq->rq.head != before))
		mlx5_record_store(&wq->db[MLX5_RCV_DBR], wq->rq.head & MLX5_INDEX_MASK);
	fabric_unlock(&wq->lock);
	hca_wq_doorbell(wq->vb.hca);
	return err;
}

/* ---- life ---- */

static int compute(const struct ibv_wq_init_attr *attr, bool striding, struct mlx5_rq *rq)
{
	uint32_t sges = attr->max_sge ? attr->max_sge : 1, size, entries;

	size = (sges + striding) * MLX5_DS;
	if (size > MLX5_RQ_ENTRY_MAX)
		return explain(EINVAL, "ibv_create_wq: max_sge %u is more than the %u of an entry",
			       attr->max_sge, MLX5_RQ_ENTRY_MAX / MLX5_DS - striding);
	size = mlx5_pow2_up(size);
	entries = mlx5_pow2_up(attr->max_wr);
	if (entries * size < MLX5_BLOCK_SIZE)
		entries = MLX5_BLOCK_SIZE / size;
	rq->mask = entries - 1;
	rq->max_post = entries;
	rq->shift = __builtin_ctz(size);
	rq->max_sge = size / MLX5_DS - striding;
	return 0;
}

static int alloc_rings(struct mlx5_context *ctx, struct vb_pd *pd, struct mlx5_wq *wq)
{
	int err = verbena_buf_alloc(&ctx->memory, pd, (size_t)wq->rq.max_post << wq->rq.shift,
				    MLX5DV_RES_TYPE_RWQ, &wq->buf);

	if (err)
		return err;
	err = verbena_record_alloc(&ctx->memory, pd, MLX5DV_RES_TYPE_DBR, &wq->record);
	if (err)
		goto free_buf;
	wq->rq.wr_ids = calloc(wq->rq.max_post, sizeof(*wq->rq.wr_ids));
	if (!wq->rq.wr_ids) {
		err = -ENOMEM;
		goto free_record;
	}
	wq->rq.buf = wq->buf.addr;
	wq->db = wq->record.addr;
	return 0;

free_record:
	verbena_buf_free(&ctx->memory, &wq->record);
free_buf:
	verbena_buf_free(&ctx->memory, &wq->buf);
	return err;
}

static void free_rings(struct mlx5_wq *wq)
{
	free(wq->rq.wr_ids);
	verbena_buf_free(&wq->ctx->memory, &wq->record);
	verbena_buf_free(&wq->ctx->memory, &wq->buf);
}

static void fill_init(struct mlx5_wq *wq, const struct ibv_wq_init_attr *attr,
		      const struct mlx5dv_striding_rq_init_attr *striding, struct hca_wq_init *init)
{
	*init = (struct hca_wq_init){
		.pd = to_pd(attr->pd)->hca,
		.cq = to_cq(attr->cq)->hca,
		.format = &mlx5_format,
		.ring = { .buf = wq->rq.buf,
			  .size = wq->rq.max_post,
			  .slot_shift = wq->rq.shift,
			  .max_sge = wq->rq.max_sge,
			  .signature = striding,
			  .db = &wq->db[MLX5_RCV_DBR] },
		.flags = attr->create_flags,
		.user_index = wq->rsc.index,
		.user = &wq->vb.wq,
	};
	if (striding) {
		init->stride_shift = striding->single_stride_log_num_of_bytes;
		init->strides_shift = striding->single_wqe_log_num_of_strides;
		init->two_byte_shift = striding->two_byte_shift_en;
	}
}

int mlx5_create_wq(struct vb_context *vb, struct ibv_wq_init_attr *attr, const void *driver_attr,
		   struct vb_wq **out)
{
	const struct mlx5dv_striding_rq_init_attr *striding = driver_attr;
	struct mlx5_wq *wq = calloc(1, sizeof(*wq));
	struct hca_wq_init init;
	int err;

	if (!wq)
		return -ENOMEM;
	wq->ctx = mlx5_ctx(vb);
	wq->cq = to_mcq(attr->cq);
	wq->strides = striding ? 1u << striding->single_wqe_log_num_of_strides : 0;
	err = compute(attr, striding, &wq->rq);
	if (!err)
		err = alloc_rings(wq->ctx, to_pd(attr->pd), wq);
	if (err)
		goto free_wq;
	wq->rsc.type = MLX5_RSC_WQ;
	err = mlx5_table_add(&wq->ctx->table, &wq->rsc);
	if (err)
		goto free_rings;
	fill_init(wq, attr, striding, &init);
	err = hca_wq_create(&init, &wq->vb.hca);
	if (err)
		goto remove;
	wq->vb.wq.post_recv = post_recv;
	attr->max_wr = wq->rq.max_post;
	/* Programs pass the struct on to the next queue: no more than one may ask for. */
	attr->max_sge = wq->rq.max_sge;
	if (attr->max_sge > vb->adapter->limits.max_sge)
		attr->max_sge = vb->adapter->limits.max_sge;
	*out = &wq->vb;
	return 0;

remove:
	mlx5_table_remove(&wq->ctx->table, &wq->rsc);
free_rings:
	free_rings(wq);
free_wq:
	free(wq);
	return err;
}

int mlx5_destroy_wq(struct vb_wq *vb)
{
	struct mlx5_wq *wq = container_of(vb, struct mlx5_wq, vb);
	int err = hca_wq_destroy(vb->hca);

	if (err)
		return err;
	mlx5_cq_purge(wq->cq, &wq->rsc, NULL);
	mlx5_table_remove(&wq->ctx->table, &wq->rsc);
	free_rings(wq);
	return 0;
}

void mlx5_reset_wq(struct vb_wq *vb)
{
	struct mlx5_wq *wq = container_of(vb, struct mlx5_wq, vb);

	mlx5_cq_purge(wq->cq, &wq->rsc, NULL);
	fabric_lock(&wq->lock);
	wq->rq.head = 0;
	atomic_store_explicit(&wq->rq.tail, 0, memory_order_relaxed);
	wq->used = 0;
	mlx5_record_store(&wq->db[MLX5_RCV_DBR], 0);
	mlx5_record_store(&wq->db[MLX5_SND_DBR], 0);
	fabric_unlock(&wq->lock);
}

/* ---- direct verbs ---- */

static int check_range(const char *what, uint32_t value, uint32_t least, uint32_t most)
{
	if (value < least || value > most)
		return explain(EINVAL, "mlx5dv_create_wq: %s is %u; %u to %u are right", what,
			       value, least, most);
	return 0;
}

static int check_extra(const struct mlx5dv_wq_init_attr *extra)
{
	const struct mlx5dv_striding_rq_init_attr *s = &extra->striding_rq_attrs;
	int err;

	if (extra->comp_mask & ~(uint64_t)MLX5DV_WQ_INIT_ATTR_MASK_STRIDING_RQ)
		return explain(EINVAL, "mlx5dv_create_wq: comp_mask 0x%llx; 0x%x is known",
			       (unsigned long long)extra->comp_mask,
			       MLX5DV_WQ_INIT_ATTR_MASK_STRIDING_RQ);
	if (!(extra->comp_mask & MLX5DV_WQ_INIT_ATTR_MASK_STRIDING_RQ))
		return 0;
	err = check_range("single_stride_log_num_of_bytes", s->single_stride_log_num_of_bytes,
			  MLX5_STRIDE_LOG_LEAST, MLX5_STRIDE_LOG_MOST);
	if (!err)
		err = check_range("single_wqe_log_num_of_strides", s->single_wqe_log_num_of_strides,
				  MLX5_STRIDES_LOG_LEAST, MLX5_STRIDES_LOG_MOST);
	return err;
}

struct ibv_wq *mlx5dv_create_wq(struct ibv_context *context, struct ibv_wq_init_attr *attr,
				struct mlx5dv_wq_init_attr *extra)
{
	const struct mlx5dv_striding_rq_init_attr *striding = NULL;
	int err;

	if (!mlx5_dv_context(context, __func__))
		return NULL;
	err = extra ? check_extra(extra) : 0;
	if (err) {
		errno = -err;
		return NULL;
	}
	if (extra && extra->comp_mask & MLX5DV_WQ_INIT_ATTR_MASK_STRIDING_RQ)
		striding = &extra->striding_rq_attrs;
	return verbena_create_wq(context, attr, striding);
}

/* Rarely asked: completions name queues by index, only device commands by number. */
struct hca_wq *mlx5_wq_find(struct mlx5_context *ctx, uint32_t number)
{
	struct hca_wq *found = NULL;

	pthread_mutex_lock(&ctx->table.lock);
	for (uint32_t page = 0; page < MLX5_TABLE_SIZE && !found; page++) {
		for (uint32_t i = 0; ctx->table.pages[page] && i < MLX5_TABLE_SIZE; i++) {
			struct mlx5_rsc *rsc = ctx->table.pages[page][i];
			struct mlx5_wq *wq;

			if (!rsc || rsc->type != MLX5_RSC_WQ)
				continue;
			wq = container_of(rsc, struct mlx5_wq, rsc);
			if (wq->vb.hca && wq->vb.hca->wqn == number)
				found = wq->vb.hca;
		}
	}
	pthread_mutex_unlock(&ctx->table.lock);
	return found;
}
