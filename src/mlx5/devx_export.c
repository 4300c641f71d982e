/* SPDX-License-Identifier: BSD-2-Clause */
#include "mlx5/devx_export.h"

#include <stdlib.h>

#include "mlx5/state.h"

static struct devx_export *make(void)
{
	struct devx_export *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->id = ++mlx5_state.last_export;
	LIST_INSERT_HEAD(&mlx5_state.exports, e, link);
	return e;
}

struct devx_export *devx_export_obj(struct mlx5dv_devx_obj *obj)
{
	if (!obj->shared.entry) {
		obj->shared.entry = make();
		if (obj->shared.entry)
			obj->shared.entry->obj = obj;
	}
	return obj->shared.entry;
}

struct devx_export *devx_export_umem(struct devx_umem *umem)
{
	if (!umem->shared.entry) {
		umem->shared.entry = make();
		if (umem->shared.entry)
			umem->shared.entry->umem = umem;
	}
	return umem->shared.entry;
}

static const struct devx *devx_of(const struct devx_export *e)
{
	return e->obj ? e->obj->devx : e->umem->devx;
}

struct devx_export *devx_export_find(uint32_t id, uint64_t uid)
{
	struct devx_export *e;

	LIST_FOREACH(e, &mlx5_state.exports, link)
		if (e->id == id)
			return devx_of(e)->ctx->vb->hca.uid == uid ? e : NULL;
	return NULL;
}

void devx_export_forget(struct devx_export *e)
{
	if (!e)
		return;
	LIST_REMOVE(e, link);
	free(e);
}

void devx_export_forget_all(const struct devx *devx)
{
	struct devx_export *e, *next;

	for (e = LIST_FIRST(&mlx5_state.exports); e; e = next) {
		next = LIST_NEXT(e, link);
		if (devx_of(e) == devx)
			devx_export_forget(e);
	}
}
