/* SPDX-License-Identifier: BSD-2-Clause */
#include "mlx5/srq.h"

#include <errno.h>
#include <stdlib.h>

#include "mlx5/format.h"
#include "mlx5/tag.h"
#include "util/explain.h"

#define ENTRY_MIN 32u

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

static int init_ring(struct mlx5_srq *srq, struct vb_pd *pd, const struct ibv_srq_attr *attr)
{
	const struct drv_ring_types types = { MLX5DV_RES_TYPE_SRQ, MLX5DV_RES_TYPE_DBR };
	uint32_t bytes = sizeof(struct drv_link_seg) + attr->max_sge * MLX5_DS;

	bytes = drv_pow2_up(bytes < ENTRY_MIN ? ENTRY_MIN : bytes);
	srq->base.shift = __builtin_ctz(bytes);
	srq->base.size = drv_pow2_up(attr->max_wr + 1);
	srq->base.limits = mlx5_recv_limits(bytes / MLX5_DS - 1);
	return drv_srq_init(&srq->base, &srq->ctx->memory, pd, types);
}

static int create_hca(struct mlx5_srq *srq, const struct ibv_srq_init_attr_ex *attr)
{
	struct hca_srq_init init = {
		.pd = to_pd(attr->pd)->hca,
		.format = &mlx5_format,
		.type = HCA_SRQ_BASIC,
		.ring = drv_srq_ring(&srq->base),
		.user_index = srq->rsc.index,
		.user = &srq->base.vb.srq,
	};

	if (srq->cq)
		init.cq = srq->cq->base.vb.hca;
	if (srq->tags) {
		init.type = HCA_SRQ_TAG;
		init.tags = mlx5_tags_entries(srq->tags);
	} else if (srq->cq) {
		init.type = HCA_SRQ_XRC;
		init.xrcd = to_xrcd(attr->xrcd)->number;
	}
	return hca_srq_create(&init, &srq->base.vb.hca);
}

int mlx5_create_srq(struct vb_context *vb, struct ibv_srq_init_attr_ex *attr, struct vb_srq **out)
{
	bool typed = attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE;
	struct mlx5_srq *srq;
	int err;

	err = check_sizes(vb, &attr->attr);
	if (!err && typed && attr->srq_type == IBV_SRQT_TM && !to_mcq(attr->cq)->base.vb.extended)
		err = explain(EINVAL, "tag matching: the completion queue must be one of "
				      "ibv_create_cq_ex(), which can tell tags");
	if (err)
		return err;
	srq = calloc(1, sizeof(*srq));
	if (!srq)
		return -ENOMEM;
	srq->ctx = mlx5_ctx(vb);
	if (typed && attr->srq_type != IBV_SRQT_BASIC)
		srq->cq = to_mcq(attr->cq);
	if (typed && attr->srq_type == IBV_SRQT_TM)
		err = mlx5_tags_init(srq, &attr->tm_cap);
	if (err)
		goto free_srq;
	err = init_ring(srq, to_pd(attr->pd), &attr->attr);
	if (err)
		goto fini_tags;
	srq->rsc.type = MLX5_RSC_SRQ;
	err = mlx5_table_add(&srq->ctx->table, &srq->rsc);
	if (err)
		goto fini_ring;
	err = create_hca(srq, attr);
	if (err)
		goto remove;
	attr->attr.max_wr = srq->base.size - 1;
	attr->attr.max_sge = srq->base.limits.max_sge;
	*out = &srq->base.vb;
	return 0;

remove:
	mlx5_table_remove(&srq->ctx->table, &srq->rsc);
fini_ring:
	drv_srq_fini(&srq->base);
fini_tags:
	mlx5_tags_fini(srq);
free_srq:
	free(srq);
	return err;
}

int mlx5_destroy_srq(struct vb_srq *vb)
{
	struct mlx5_srq *srq = container_of(vb, struct mlx5_srq, base.vb);
	int err = hca_srq_destroy(vb->hca);

	if (err)
		return err;
	if (srq->cq)
		drv_cq_purge(&srq->cq->base, &srq->rsc, NULL);
	mlx5_table_remove(&srq->ctx->table, &srq->rsc);
	drv_srq_fini(&srq->base);
	mlx5_tags_fini(srq);
	return 0;
}
