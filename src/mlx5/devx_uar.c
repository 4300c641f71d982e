/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * UAR pages of a program. Objects name them by number at creation, and take no reference: the
 * doorbells of a freed page are not watched any more.
 */
#include "mlx5/devx_uar.h"

#include <errno.h>
#include <stdlib.h>

#include "hca/memory/udmabuf.h"
#include "hca/queue/doorbell_trap.h"
#include "hca/queue/doorbell_watch.h"
#include "hca/queue/uar.h"
#include "mlx5/devx_cmd.h"
#include "mlx5/dv.h"
#include "mlx5/format.h"
#include "util/explain.h"

static int make(struct devx *devx, struct devx_uar **out)
{
	struct devx_uar *uar = calloc(1, sizeof(*uar));
	off_t offset = 0;
	int err;

	if (!uar)
		return -ENOMEM;
	err = hca_uar_create(&mlx5_format, &uar->hca);
	if (err)
		goto free_uar;
	/* Without an offset the page can still be used by its address. */
	err = hca_uar_show(uar->hca, devx->ctx->vb->verbs.context.cmd_fd, &offset);
	if (err && err != -EFBIG)
		goto destroy_hca;
	uar->devx = devx;
	uar->pub = (struct mlx5dv_devx_uar){
		.base_addr = uar->hca->page,
		.reg_addr = uar->hca->page + MLX5_UAR_BF_OFFSET,
		.page_id = uar->hca->id,
		.mmap_off = offset,
	};
	*out = uar;
	return 0;
destroy_hca:
	hca_uar_destroy(uar->hca);
free_uar:
	free(uar);
	return err;
}

struct mlx5dv_devx_uar *mlx5dv_devx_alloc_uar(struct ibv_context *context, uint32_t flags)
{
	const uint32_t known = MLX5DV_UAR_ALLOC_TYPE_BF | MLX5DV_UAR_ALLOC_TYPE_NC |
			       MLX5DV_UAR_ALLOC_TYPE_NC_DEDICATED;
	struct mlx5_context *ctx = mlx5_dv_context(context, __func__);
	struct devx_uar *uar;
	int err;

	if (!ctx)
		return NULL;
	if (flags & ~known)
		return explain_null(EOPNOTSUPP, "mlx5dv_devx_alloc_uar: flags 0x%x; 0x%x is known",
				    flags, known);
	err = make(ctx->devx, &uar);
	if (err) {
		errno = -err;
		return NULL;
	}
	pthread_mutex_lock(&ctx->devx->lock);
	LIST_INSERT_HEAD(&ctx->devx->uars, uar, link);
	pthread_mutex_unlock(&ctx->devx->lock);
	return &uar->pub;
}

/* devx.lock held. */
static void drop(struct devx_uar *uar)
{
	LIST_REMOVE(uar, link);
	hca_uar_destroy(uar->hca);
	free(uar);
}

void mlx5dv_devx_free_uar(struct mlx5dv_devx_uar *pub)
{
	struct devx_uar *uar;
	struct devx *devx;

	if (!pub)
		return;
	uar = container_of(pub, struct devx_uar, pub);
	devx = uar->devx;
	pthread_mutex_lock(&devx->lock);
	drop(uar);
	pthread_mutex_unlock(&devx->lock);
}

int mlx5dv_devx_uar_export_dmabuf_fd(struct mlx5dv_devx_uar *pub)
{
	const struct devx_uar *uar = container_of(pub, struct devx_uar, pub);
	int fd =
		hca_udmabuf_create(uar->devx->ctx->vb->verbs.context.cmd_fd,
				   (uint64_t)uar->hca->shown_at, HCA_UAR_SIZE, "the doorbell page");

	if (fd >= 0)
		return fd;
	errno = -fd;
	return -1;
}

int devx_uar_use(struct devx_cmd *c, uint32_t id, struct hca_uar **out)
{
	struct hca_uar *found = NULL;
	const struct devx_uar *uar;

	if (id == c->devx->ctx->uar->id)
		found = c->devx->ctx->uar;
	LIST_FOREACH(uar, &c->devx->uars, link)
		if (uar->hca->id == id)
			found = uar->hca;
	if (!found)
		return devx_refuse(c, IFC_STATUS_BAD_RES, DEVX_WHY_UAR,
				   "doorbell page 0x%x does not exist; mlx5dv_devx_alloc_uar() "
				   "gives one",
				   id);
	hca_doorbell_open(found);
	if (out)
		*out = found;
	return 0;
}

void devx_uars_fini(struct devx *devx)
{
	struct devx_uar *uar, *next;

	for (uar = LIST_FIRST(&devx->uars); uar; uar = next) {
		next = LIST_NEXT(uar, link);
		drop(uar);
	}
}
