/* SPDX-License-Identifier: BSD-2-Clause */
#include "mlx5/context.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hca/queue/uar.h"
#include "mlx5/av.h"
#include "mlx5/devx_destroy.h"
#include "mlx5/dv_crypto.h"
#include "mlx5/format.h"
#include "mlx5/poll.h"
#include "mlx5/send.h"
#include "mlx5/srq.h"
#include "mlx5/table.h"
#include "mlx5/tag.h"

/* Huge pages for rings, as rdma-core's environment variables ask for them. */
static enum vb_pages pages_for(uint64_t type)
{
	const char *env = NULL;

	if (type == MLX5DV_RES_TYPE_QP)
		env = getenv("MLX_QP_ALLOC_TYPE");
	else if (type == MLX5DV_RES_TYPE_CQ)
		env = getenv("MLX_CQ_ALLOC_TYPE");
	else if (type == MLX5DV_RES_TYPE_SRQ)
		env = getenv("MLX_SRQ_ALLOC_TYPE");
	if (env && !strcmp(env, "HUGE"))
		return VB_PAGES_HUGE;
	return env && !strcmp(env, "PREFER_HUGE") ? VB_PAGES_PREFER_HUGE : VB_PAGES_ANY;
}

int mlx5_context_init(struct vb_context *vb)
{
	struct ibv_context_ops *ops = &vb->verbs.context.ops;
	struct mlx5_context *ctx = calloc(1, sizeof(*ctx));
	int err;

	if (!ctx)
		return -ENOMEM;
	err = hca_uar_create(&mlx5_format, &ctx->uar);
	if (err) {
		free(ctx);
		return err;
	}
	ctx->uar_page = ctx->uar->page;
	ctx->vb = vb;
	ctx->min_inline =
		hca_model_has(vb->adapter->model, HCA_HAS_NO_INLINE) ? 0 : MLX5_ETH_L2_INLINE;
	ctx->ethernet = vb->adapter->ports[0].link == HCA_LINK_ETHERNET;
	mlx5_table_init(&ctx->table);
	verbena_memory_init(&ctx->memory);
	ctx->memory.pages_for = pages_for;
	vb->driver_data = ctx;
	err = devx_init(ctx);
	if (err) {
		mlx5_table_fini(&ctx->table);
		verbena_memory_fini(&ctx->memory);
		hca_uar_destroy(ctx->uar);
		free(ctx);
		return err;
	}

	ops->poll_cq = mlx5_poll_cq;
	ops->req_notify_cq = drv_arm_cq;
	ops->post_send = mlx5_post_send;
	ops->post_recv = drv_post_recv;
	ops->post_srq_recv = drv_post_srq_recv;
	ops->bind_mw = mlx5_bind_mw;
	vb->verbs.get_srq_num = mlx5_get_srq_num;
	vb->verbs.post_srq_ops = mlx5_post_srq_ops;
	return 0;
}

void mlx5_context_fini(struct vb_context *vb)
{
	struct mlx5_context *ctx = mlx5_ctx(vb);
	struct mlx5_reserved_qpn *r;

	/* The numbers stay reserved: another process may use them. */
	while ((r = LIST_FIRST(&ctx->reserved))) {
		LIST_REMOVE(r, link);
		free(r);
	}
	devx_fini(ctx);
	mlx5_crypto_fini(ctx);
	verbena_memory_fini(&ctx->memory);
	mlx5_table_fini(&ctx->table);
	hca_uar_destroy(ctx->uar);
	free(ctx);
}

void mlx5_init_ah(struct vb_ah *ah)
{
	_Static_assert(sizeof(struct mlx5_wqe_av) <= sizeof(ah->driver),
		       "a handle has room for it");
	bool ethernet = mlx5_ctx_of(ah->ah.context)->ethernet;

	mlx5_av_encode(&ah->av, ethernet, (struct mlx5_wqe_av *)ah->driver);
}
