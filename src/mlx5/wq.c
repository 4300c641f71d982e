/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A work queue is a ring of receive WQEs with its own doorbell record. WQEs of a striding queue start
 * with a link segment, which is not used, and complete once per frame; they are free again when all
 * their strides are used.
 */
#include "mlx5/wq.h"

#include <errno.h>
#include <stdlib.h>

#include "hca/raw/wq.h"
#include "mlx5/dv.h"
#include "mlx5/format.h"
#include "util/explain.h"
#include "verbs/wq.h"

static int compute(const struct ibv_wq_init_attr *attr, bool striding, struct drv_rq *rq)
{
	uint32_t sges = attr->max_sge ? attr->max_sge : 1, size, entries;

	size = (sges + striding) * MLX5_DS;
	if (size > MLX5_RQ_ENTRY_MAX)
		return explain(EINVAL, "ibv_create_wq: max_sge %u is more than the %u of an entry",
			       attr->max_sge, MLX5_RQ_ENTRY_MAX / MLX5_DS - striding);
	size = drv_pow2_up(size);
	entries = drv_pow2_up(attr->max_wr);
	if (entries * size < MLX5_BLOCK_SIZE)
		entries = MLX5_BLOCK_SIZE / size;
	rq->mask = entries - 1;
	rq->max_post = entries;
	rq->shift = __builtin_ctz(size);
	rq->limits = mlx5_recv_limits(size / MLX5_DS - striding);
	rq->has_link = striding;
	rq->is_wq = true;
	return 0;
}

static int alloc_rings(struct mlx5_wq *wq, struct vb_pd *pd)
{
	const struct drv_ring_types types = { MLX5DV_RES_TYPE_RWQ, MLX5DV_RES_TYPE_DBR };
	int err = drv_ring_alloc(&wq->ring, &wq->ctx->memory, pd,
				 (size_t)wq->rq.max_post << wq->rq.shift, types);

	if (err)
		return err;
	wq->rq.wr_ids = calloc(wq->rq.max_post, sizeof(*wq->rq.wr_ids));
	if (!wq->rq.wr_ids) {
		drv_ring_free(&wq->ring);
		return -ENOMEM;
	}
	wq->rq.buf = wq->ring.buf.addr;
	wq->rq.db = (uint32_t *)wq->ring.record.addr + MLX5_RCV_DBR;
	return 0;
}

static void free_rings(struct mlx5_wq *wq)
{
	free(wq->rq.wr_ids);
	drv_ring_free(&wq->ring);
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
			  .max_sge = wq->rq.limits.max_sge,
			  .signature = striding,
			  .db = wq->rq.db },
		.flags = attr->create_flags,
		.user_index = wq->rsc.index,
		.user = &wq->base.vb.wq,
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
		err = alloc_rings(wq, to_pd(attr->pd));
	if (err)
		goto free_wq;
	wq->rsc.type = MLX5_RSC_WQ;
	err = mlx5_table_add(&wq->ctx->table, &wq->rsc);
	if (err)
		goto free_rings;
	fill_init(wq, attr, striding, &init);
	err = hca_wq_create(&init, &wq->base.vb.hca);
	if (err)
		goto remove;
	wq->rq.number = wq->base.vb.hca->wqn;
	wq->base.rq = &wq->rq;
	wq->base.vb.wq.post_recv = drv_post_wq_recv;
	attr->max_wr = wq->rq.max_post;
	/* Programs pass the struct on to the next queue: not more than the limit. */
	attr->max_sge = wq->rq.limits.max_sge;
	if (attr->max_sge > vb->adapter->limits.max_sge)
		attr->max_sge = vb->adapter->limits.max_sge;
	*out = &wq->base.vb;
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
	struct mlx5_wq *wq = container_of(vb, struct mlx5_wq, base.vb);
	int err = hca_wq_destroy(vb->hca);

	if (err)
		return err;
	drv_cq_purge(&wq->cq->base, &wq->rsc, NULL);
	mlx5_table_remove(&wq->ctx->table, &wq->rsc);
	free_rings(wq);
	return 0;
}

void mlx5_reset_wq(struct vb_wq *vb)
{
	struct mlx5_wq *wq = container_of(vb, struct mlx5_wq, base.vb);

	drv_cq_purge(&wq->cq->base, &wq->rsc, NULL);
	wq->used = 0;
	drv_rq_reset(&wq->rq);
}

/* ---- direct verbs ---- */

static int check_range(const char *what, uint32_t value, uint32_t least, uint32_t most)
{
	if (value < least || value > most)
		return explain(EINVAL, "mlx5dv_create_wq: %s is %u; expected %u to %u", what, value,
			       least, most);
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

/* Linear, and rarely called: CQEs name queues by index, only device commands by number. */
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
			if (wq->base.vb.hca && wq->base.vb.hca->wqn == number)
				found = wq->base.vb.hca;
		}
	}
	pthread_mutex_unlock(&ctx->table.lock);
	return found;
}
