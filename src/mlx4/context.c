/* SPDX-License-Identifier: BSD-2-Clause */
#include "mlx4/context.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "mlx4/av.h"
#include "mlx4/poll.h"
#include "mlx4/post.h"

static bool is_ethernet(const struct hca_adapter *adapter, int port)
{
	return adapter->ports[port - 1].link == HCA_LINK_ETHERNET;
}

/* The UAR page with its doorbells, then the page of the BlueFlame registers. */
static int map_registers(struct mlx4_context *ctx)
{
	void *pages = mmap(NULL, 2 * VB_PAGE_SIZE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		return -ENOMEM;
	ctx->uar = pages;
	ctx->blueflame = ctx->uar + VB_PAGE_SIZE;
	return 0;
}

static void put_operations(struct vb_context *vb)
{
	struct ibv_context_ops *ops = &vb->verbs.context.ops;

	ops->poll_cq = mlx4_poll_cq;
	ops->req_notify_cq = drv_arm_cq;
	ops->post_send = mlx4_post_send;
	ops->post_recv = drv_post_recv;
	ops->post_srq_recv = drv_post_srq_recv;
	ops->bind_mw = mlx4_bind_mw;
}

int mlx4_context_init(struct vb_context *vb)
{
	struct mlx4_context *ctx = calloc(1, sizeof(*ctx));
	int err;

	if (!ctx)
		return -ENOMEM;
	err = map_registers(ctx);
	if (err) {
		free(ctx);
		return err;
	}
	ctx->vb = vb;
	ctx->ethernet = is_ethernet(vb->adapter, 1);
	for (int port = 2; port <= vb->adapter->port_count; port++)
		ctx->mixed |= is_ethernet(vb->adapter, port) != ctx->ethernet;
	verbena_memory_init(&ctx->memory);
	vb->driver_data = ctx;
	put_operations(vb);
	return 0;
}

void mlx4_context_fini(struct vb_context *vb)
{
	struct mlx4_context *ctx = mlx4_ctx(vb);

	verbena_memory_fini(&ctx->memory);
	hca_table_fini(&ctx->srqs);
	hca_table_fini(&ctx->qps);
	munmap(ctx->uar, 2 * VB_PAGE_SIZE);
	free(ctx);
}

void mlx4_init_ah(struct vb_ah *ah)
{
	_Static_assert(sizeof(struct mlx4_wqe_datagram_seg) <= sizeof(ah->driver),
		       "a handle has room for it");
	const struct hca_adapter *adapter = to_context(ah->ah.context)->adapter;

	mlx4_av_encode(&ah->av, to_pd(ah->ah.pd)->hca->pdn, is_ethernet(adapter, ah->av.port),
		       (struct mlx4_wqe_datagram_seg *)ah->driver);
}
