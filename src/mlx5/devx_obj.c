/* SPDX-License-Identifier: BSD-2-Clause */
#include "mlx5/devx_obj.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mlx5/devx_cmd.h"
#include "util/explain.h"

struct mlx5dv_devx_obj *devx_find(struct devx *devx, enum devx_kind kind, uint32_t number)
{
	return devx->tables[kind] ? hca_table_find(devx->tables[kind], number) : NULL;
}

static int set(struct mlx5dv_devx_obj *obj, uint32_t number)
{
	struct hca_table **table = &obj->devx->tables[obj->kind];
	int err;

	if (!*table) {
		*table = calloc(1, sizeof(struct hca_table));
		if (!*table)
			return -ENOMEM;
	}
	err = hca_table_set(*table, number, obj);
	if (!err && !obj->number)
		obj->number = number;
	return err;
}

/* A released number is used again only after all others. */
int devx_number(struct mlx5dv_devx_obj *obj, uint32_t from, uint32_t limit, uint32_t count)
{
	uint32_t *last = &obj->devx->last[obj->kind], first = *last + 1, tried = 0, run = 0;
	int err = 0;

	while (run < count) {
		if (tried++ > limit - from + count)
			return explain(ENOMEM, "all %u numbers of this kind are taken",
				       limit - from);
		if (first < from || first + run >= limit) {
			first = from;
			run = 0;
		}
		if (devx_find(obj->devx, obj->kind, first + run)) {
			first += run + 1;
			run = 0;
		} else {
			run++;
		}
	}
	for (uint32_t i = 0; i < count && !err; i++)
		err = set(obj, first + i);
	obj->count = count;
	*last = first + count - 1;
	return err;
}

void devx_use(struct mlx5dv_devx_obj *obj, struct mlx5dv_devx_obj *other)
{
	for (int i = 0; i < DEVX_USES; i++)
		if (!obj->uses[i]) {
			obj->uses[i] = other;
			other->users++;
			return;
		}
}

static bool is_mine(const struct devx_cmd *c, const struct hca_ctx *ctx)
{
	return ctx->uid == c->devx->ctx->vb->hca.uid;
}

struct hca_pd *devx_hold_pd(const struct devx_cmd *c, uint32_t pdn)
{
	struct hca_pd *pd = hca_pd_hold(c->adapter, pdn);

	if (!pd || is_mine(c, pd->ctx))
		return pd;
	hca_pd_put(pd);
	return NULL;
}

struct hca_cq *devx_hold_cq(const struct devx_cmd *c, uint32_t cqn)
{
	struct hca_cq *cq = hca_cq_hold(c->adapter, cqn);

	if (!cq || is_mine(c, cq->ctx))
		return cq;
	hca_cq_put(cq);
	return NULL;
}

struct hca_srq *devx_hold_srq(const struct devx_cmd *c, uint32_t srqn)
{
	struct hca_srq *srq = hca_srq_hold(c->adapter, srqn);

	if (!srq || is_mine(c, srq->pd->ctx))
		return srq;
	hca_srq_put(srq);
	return NULL;
}

int devx_keep(struct devx_cmd *c, const void *image, size_t len)
{
	uint8_t *copy = malloc(len ? len : 1);

	if (!copy)
		return devx_refuse_errno(c, -ENOMEM, DEVX_WHY_MEMORY);
	memcpy(copy, image, len);
	free(c->obj->image);
	c->obj->image = copy;
	c->obj->image_len = len;
	return 0;
}
