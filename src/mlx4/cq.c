/* SPDX-License-Identifier: BSD-2-Clause */
#include "mlx4/cq.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mlx4/cqe_read.h"
#include "mlx4/cqex.h"
#include "mlx4/format.h"
#include "util/explain.h"

/* Bytes of a new ring: the owner bit is the adapter's for the lap 0. */
#define FRESH_ENTRY 0xcc

#define TIMESTAMP_MASK 0xffffffffffffull

static void init_entries(void *buf, size_t count, size_t entry_size)
{
	memset(buf, FRESH_ENTRY, count * entry_size);
}

/* `queue`: a struct mlx4_qp. */
static bool belongs(const struct drv_cq *base, const void *entry, const void *queue,
		    const struct drv_srq *srq)
{
	const struct mlx4_cq *cq = container_of(base, struct mlx4_cq, base);
	const struct mlx4_cqe *cqe = entry;
	const struct mlx4_qp *qp = queue;
	uint32_t qpn = be32toh(cqe->vlan_my_qpn) & MLX4_QPN_MASK;

	if (qp)
		return qpn == qp->base.qpn;
	return !mlx4_cqe_is_send(cqe) && !hca_table_find(&cq->ctx->qps, qpn) &&
	       (be32toh(cqe->g_mlpath_rqpn) & MLX4_QPN_MASK) ==
		       container_of(srq, struct mlx4_srq, base)->srqn;
}

static int srq_entry(const void *entry)
{
	const struct mlx4_cqe *cqe = entry;

	return mlx4_cqe_is_send(cqe) ? -1 : be16toh(cqe->wqe_index);
}

static const struct drv_cq_format cq_format = {
	.hca = &mlx4_format,
	.cqe_size = sizeof(struct mlx4_cqe),
	.owner_mask = MLX4_CQE_OWNER_MASK,
	.arm_next = MLX4_CQ_DB_REQ_NOT,
	.arm_solicited = MLX4_CQ_DB_REQ_NOT_SOL,
	.init = init_entries,
	.ready = mlx4_cqe_ready,
	.belongs = belongs,
	.srq_entry = srq_entry,
};

static const uint64_t known_wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;

static int check_attr(const struct ibv_cq_init_attr_ex *attr)
{
	const uint64_t path = IBV_WC_EX_WITH_SLID | IBV_WC_EX_WITH_SL;

	if (attr->comp_mask & ~(uint32_t)(IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD))
		return explain(EOPNOTSUPP, "comp_mask 0x%x of a CQ; this adapter knows 0x%x",
			       attr->comp_mask,
			       IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD);
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS &&
	    attr->flags & ~(uint32_t)IBV_CREATE_CQ_ATTR_SINGLE_THREADED)
		return explain(EOPNOTSUPP, "flags 0x%x of a CQ; this adapter knows 0x%x",
			       attr->flags, IBV_CREATE_CQ_ATTR_SINGLE_THREADED);
	if (attr->wc_flags & ~known_wc_flags)
		return explain(EOPNOTSUPP,
			       "wc_flags 0x%llx of a CQ; completions of this adapter have 0x%llx",
			       (unsigned long long)attr->wc_flags,
			       (unsigned long long)known_wc_flags);
	if (attr->wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP && attr->wc_flags & path)
		return explain(EOPNOTSUPP,
			       "completions of this adapter have either a time stamp or "
			       "service level and source LID");
	return 0;
}

int mlx4_create_cq(struct vb_context *ctx, struct ibv_cq_init_attr_ex *attr,
		   const void *driver_attr, struct vb_cq **out)
{
	struct mlx4_cq *cq;
	int err = check_attr(attr);

	if (err)
		return err;
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return -ENOMEM;
	cq->ctx = mlx4_ctx(ctx);
	cq->timestamps = attr->wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
	atomic_init(&cq->base.arm_sn, 1);
	err = drv_cq_init(&cq->base, ctx, &cq->ctx->memory, attr, MLX4_CQE_SIZE, &cq_format);
	if (err) {
		free(cq);
		return err;
	}
	if (cq->timestamps)
		cq->base.vb.hca->timestamp_mask = TIMESTAMP_MASK;
	mlx4_cq_fill_ex(cq, attr->wc_flags);
	*out = &cq->base.vb;
	return 0;
}

int mlx4_destroy_cq(struct vb_cq *vb)
{
	struct mlx4_cq *cq = container_of(vb, struct mlx4_cq, base.vb);
	int err = hca_cq_destroy(vb->hca);

	if (!err)
		drv_ring_free(&cq->base.ring);
	return err;
}

int mlx4_resize_cq(struct vb_cq *vb, int entries)
{
	struct mlx4_cq *cq = container_of(vb, struct mlx4_cq, base.vb);
	struct vb_buf old;
	int err = drv_cq_resize(&cq->base, entries, &old);

	verbena_buf_free(&cq->ctx->memory, &old);
	return err;
}
