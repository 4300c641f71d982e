/* SPDX-License-Identifier: BSD-2-Clause */
#include "mlx4/srq.h"

#include <errno.h>
#include <stdlib.h>

#include "mlx4/format.h"
#include "mlx4/geometry.h"
#include "util/explain.h"

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

static int init_ring(struct mlx4_srq *srq, struct vb_pd *pd, const struct ibv_srq_attr *attr)
{
	srq->base.shift = mlx4_srq_shift(attr->max_sge);
	srq->base.size = drv_pow2_up(attr->max_wr + 1);
	srq->base.limits = mlx4_recv_limits(attr->max_sge);
	return drv_srq_init(&srq->base, &srq->ctx->memory, pd, (struct drv_ring_types){ 0 });
}

static int create_hca(struct mlx4_srq *srq, const struct ibv_srq_init_attr_ex *attr)
{
	struct hca_srq_init init = {
		.pd = to_pd(attr->pd)->hca,
		.format = &mlx4_format,
		.type = HCA_SRQ_BASIC,
		.ring = drv_srq_ring(&srq->base),
		.user = &srq->base.vb.srq,
	};
	struct hca_srq *hca;
	int err;

	if (srq->xrc_cq) {
		init.type = HCA_SRQ_XRC;
		init.cq = srq->xrc_cq->base.vb.hca;
		init.xrcd = to_xrcd(attr->xrcd)->number;
	}
	err = hca_srq_create(&init, &hca);
	if (err)
		return err;
	srq->base.vb.hca = hca;
	srq->srqn = hca->srqn;
	if (!srq->xrc_cq)
		return 0;
	err = hca_table_set(&srq->ctx->srqs, srq->srqn, srq);
	if (err)
		hca_srq_destroy(hca);
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
	err = init_ring(srq, to_pd(attr->pd), &attr->attr);
	if (err)
		goto free_srq;
	err = create_hca(srq, attr);
	if (err)
		goto fini_ring;
	attr->attr.max_wr = srq->base.size - 1;
	*out = &srq->base.vb;
	return 0;

fini_ring:
	drv_srq_fini(&srq->base);
free_srq:
	free(srq);
	return err;
}

int mlx4_destroy_srq(struct vb_srq *vb)
{
	struct mlx4_srq *srq = container_of(vb, struct mlx4_srq, base.vb);
	int err = hca_srq_destroy(vb->hca);

	if (err)
		return err;
	if (srq->xrc_cq) {
		drv_cq_purge(&srq->xrc_cq->base, NULL, &srq->base);
		hca_table_set(&srq->ctx->srqs, srq->srqn, NULL);
	}
	drv_srq_fini(&srq->base);
	return 0;
}
