/* SPDX-License-Identifier: BSD-2-Clause */
#include "mlx5/cq.h"

#include <errno.h>
#include <stdlib.h>

#include "hca/engine/poll.h"
#include "hca/queue/cq.h"
#include "hca/queue/cq_alias.h"
#include "mlx5/clock.h"
#include "mlx5/cqe_read.h"
#include "mlx5/cqex.h"
#include "mlx5/format.h"
#include "util/explain.h"

#define WITH_STAMPS                                                                                \
	(IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)

static void init_entries(void *buf, size_t count, size_t entry_size)
{
	uint8_t *own = (uint8_t *)buf + entry_size - 1;

	for (size_t i = 0; i < count; i++, own += entry_size)
		*own = MLX5_CQE_INVALID << 4;
}

/* `queue`: a struct mlx5_rsc. */
static bool belongs(const struct drv_cq *cq, const void *entry, const void *queue,
		    const struct drv_srq *srq)
{
	const struct mlx5_cqe64 *cqe = entry;
	const struct mlx5_rsc *rsc = queue;
	const struct mlx5_qp *qp = container_of(rsc, struct mlx5_qp, rsc);

	/* Tagged buffers are the receive queue's, also those that a message of the QP has taken. */
	if (mlx5_cqe_is_tag(cqe))
		return (be32toh(cqe->srqn_uidx) & MLX5_QPN_MASK) == rsc->index;
	/* CQEs of received frames have the flow tag in place of the QP number. */
	if (rsc->type == MLX5_RSC_QP && qp->base.type != HCA_QP_RAW)
		return (be32toh(cqe->sop_drop_qpn) & MLX5_QPN_MASK) == qp->base.qpn;
	return (be32toh(cqe->srqn_uidx) & MLX5_QPN_MASK) == rsc->index;
}

static int srq_entry(const void *entry)
{
	const struct mlx5_cqe64 *cqe = entry;

	if (mlx5_cqe_is_tag(cqe) && cqe->app_op != HCA_TM_UNEXPECTED &&
	    cqe->app_op != HCA_TM_NO_TAG)
		return -1;
	switch (cqe->op_own >> 4) {
	case MLX5_CQE_RESP_SEND:
	case MLX5_CQE_RESP_SEND_IMM:
	case MLX5_CQE_RESP_SEND_INV:
	case MLX5_CQE_RESP_WR_IMM:
	case MLX5_CQE_RESP_ERR:
		return be16toh(cqe->wqe_counter);
	default:
		return -1;
	}
}

static const struct drv_cq_format cq_format = {
	.hca = &mlx5_format,
	.types = { MLX5DV_RES_TYPE_CQ, MLX5DV_RES_TYPE_DBR },
	.cqe_size = sizeof(struct mlx5_cqe64),
	.owner_mask = MLX5_CQE_OWNER_MASK,
	.arm_next = MLX5_CQ_DB_REQ_NOT,
	.arm_solicited = MLX5_CQ_DB_REQ_NOT_SOL,
	.init = init_entries,
	.ready = mlx5_cqe_written,
	.belongs = belongs,
	.srq_entry = srq_entry,
};

/* 64, or 128 when the program or its environment asks for it. */
static int entry_bytes(const struct mlx5dv_cq_init_attr *attr, uint32_t *size)
{
	const char *env;

	*size = 64;
	if (attr && attr->comp_mask & MLX5DV_CQ_INIT_ATTR_MASK_CQE_SIZE) {
		*size = attr->cqe_size;
		return 0;
	}
	env = getenv("MLX5_CQE_SIZE");
	if (!env || !*env)
		return 0;
	*size = strtoul(env, NULL, 10);
	if (*size != 64 && *size != 128)
		return explain(EINVAL, "MLX5_CQE_SIZE is %s; expected 64 or 128", env);
	return 0;
}

static enum hca_mini_cqe mini_of(uint8_t format)
{
	return format == MLX5DV_CQE_RES_FORMAT_HASH   ? HCA_MINI_HASH
	       : format == MLX5DV_CQE_RES_FORMAT_CSUM ? HCA_MINI_CSUM
						      : HCA_MINI_CSUM_STRIDE;
}

int mlx5_create_cq(struct vb_context *ctx, struct ibv_cq_init_attr_ex *attr,
		   const void *driver_attr, struct vb_cq **out)
{
	const struct mlx5dv_cq_init_attr *dv = driver_attr;
	struct mlx5_cq *cq;
	uint32_t size;
	int err = entry_bytes(dv, &size);

	if (err)
		return err;
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return -ENOMEM;
	cq->ctx = mlx5_ctx(ctx);
	err = drv_cq_init(&cq->base, ctx, &cq->ctx->memory, attr, size, &cq_format);
	if (err) {
		free(cq);
		return err;
	}
	mlx5_cq_fill_ex(cq, attr->wc_flags);
	if (dv && dv->comp_mask & MLX5DV_CQ_INIT_ATTR_MASK_COMPRESSED_CQE)
		hca_cq_permit_mini(cq->base.vb.hca, mini_of(dv->cqe_comp_res_format));
	/* Reading the clock takes time: only for CQs whose timestamps can be read. */
	if (attr->wc_flags & WITH_STAMPS || dv)
		mlx5_cq_stamp(cq);
	*out = &cq->base.vb;
	return 0;
}

void mlx5_cq_map_alias(struct mlx5_cq *cq)
{
	/* A program that allocates the ring itself may know it by its own address only. */
	if (cq->base.ring.buf.origin != VB_BUF_PAGES ||
	    hca_cq_alias_create(cq->base.vb.hca, &cq->alias))
		cq->alias = NULL;
}

static void drop_alias(struct mlx5_cq *cq)
{
	if (cq->alias)
		hca_cq_alias_destroy(cq->alias);
	cq->alias = NULL;
}

int mlx5_destroy_cq(struct vb_cq *vb)
{
	struct mlx5_cq *cq = container_of(vb, struct mlx5_cq, base.vb);
	int err = hca_cq_destroy(vb->hca);

	if (err)
		return err;
	drop_alias(cq);
	drv_ring_free(&cq->base.ring);
	return 0;
}

void mlx5_cq_stamp(struct mlx5_cq *cq)
{
	struct hca_cq *hca = cq->base.vb.hca;

	fabric_lock(&hca->lock);
	hca->timestamp_mask = MLX5_CLOCK_MASK;
	fabric_unlock(&hca->lock);
}

int mlx5_resize_cq(struct vb_cq *vb, int entries)
{
	struct mlx5_cq *cq = container_of(vb, struct mlx5_cq, base.vb);
	struct vb_buf old;
	int err = drv_cq_resize(&cq->base, entries, &old);

	/* The alias maps the old ring; a program that polls it has to call mlx5dv_init_obj() again. */
	if (!err && old.addr)
		drop_alias(cq);
	verbena_buf_free(&cq->ctx->memory, &old);
	return err;
}
