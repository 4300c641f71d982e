/* SPDX-License-Identifier: BSD-2-Clause */
#include "mlx5/devx_rqt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hca/raw/rss.h"
#include "mlx5/devx_cmd.h"
#include "mlx5/devx_obj.h"
#include "mlx5/devx_wq.h"

#define RQT_MAX 2048u

static int check_list(struct devx_cmd *c, const void *ctx, size_t given, uint32_t max)
{
	uint32_t count = ifc_get(ctx, rqtc, rqt_actual_size);
	struct mlx5dv_devx_obj *rq;

	if (!count || count > max || given < count * 4ull)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_SIZE,
				   "%u queues of at most %u, in %zu bytes", count, max, given);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t rqn = ifc_get_at(ctx, rqtc, rq_num, i) & 0xffffff;

		if (!devx_wq_find(c->devx, rqn, &rq) && !rq)
			return devx_refuse(c, IFC_STATUS_BAD_RES, DEVX_WHY_OBJECT,
					   "receive queue 0x%x (entry %u) does not exist", rqn, i);
	}
	return 0;
}

static void use_list(struct devx_cmd *c, int by)
{
	const uint8_t *ctx = c->obj->image;
	/* A verbs indirection table's references are the adapter's only. */
	uint32_t count = c->obj->stand_in ? 0 : ifc_get(ctx, rqtc, rqt_actual_size);

	for (uint32_t i = 0; i < count; i++) {
		struct mlx5dv_devx_obj *rq =
			devx_find(c->devx, DEVX_RQ, ifc_get_at(ctx, rqtc, rq_num, i) & 0xffffff);

		if (rq)
			rq->users += by;
	}
}

static int keep_list(struct devx_cmd *c, const void *ctx)
{
	return devx_keep(c, ctx, ifc_len(rqtc) + ifc_get(ctx, rqtc, rqt_actual_size) * 4ull);
}

static uint8_t log_up(uint32_t count)
{
	return count > 1 ? 32 - __builtin_clz(count - 1) : 0;
}

/*
 * The adapter's table is as long as the longest list that MODIFY_RQT may set; a shorter list is
 * repeated. There is none when frames cannot reach a queue of the list.
 */
static int fill_table(struct devx_cmd *c, const void *ctx, uint32_t max)
{
	uint32_t count = ifc_get(ctx, rqtc, rqt_actual_size), size = 1u << log_up(max);
	struct hca_wq **wqs = calloc(size, sizeof(*wqs));
	struct mlx5dv_devx_obj *rq;
	int err = 0;

	if (!wqs)
		return devx_refuse_errno(c, -ENOMEM, DEVX_WHY_MEMORY);
	for (uint32_t i = 0; i < size; i++) {
		wqs[i] = devx_wq_find(c->devx, ifc_get_at(ctx, rqtc, rq_num, i % count) & 0xffffff,
				      &rq);
		if (!wqs[i])
			goto free_wqs;
	}
	err = c->obj->ind_table ? hca_ind_table_modify(c->obj->ind_table, wqs)
				: hca_ind_table_create(wqs, log_up(max), &c->obj->ind_table);
	err = devx_refuse_errno(c, err, DEVX_WHY_OBJECT);
free_wqs:
	free(wqs);
	return err;
}

int devx_create_rqt(struct devx_cmd *c)
{
	const void *ctx = ifc_cptr(c->in, create_rqt_in, rqt_context);
	uint32_t max = ifc_get(ctx, rqtc, rqt_max_size);
	int err;

	if (max > RQT_MAX)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_SIZE,
				   "rqt_max_size %u; at most %u", max, RQT_MAX);
	err = check_list(c, ctx, c->inlen - ifc_len(create_rqt_in), max);
	if (!err)
		err = keep_list(c, ctx);
	if (!err)
		err = fill_table(c, ctx, max);
	if (!err)
		err = devx_wq_number(c);
	if (!err)
		use_list(c, 1);
	return err;
}

int devx_modify_rqt(struct devx_cmd *c)
{
	const void *ctx = ifc_cptr(c->in, modify_rqt_in, rqt_context);
	uint32_t max = ifc_get(c->obj->image, rqtc, rqt_max_size);
	int err;

	if (!(ifc_get(c->in, modify_rqt_in, modify_bitmask) & IFC_MODIFY_RQT_LIST))
		return 0;
	err = check_list(c, ctx, c->inlen - ifc_len(modify_rqt_in), max);
	if (!err && c->obj->ind_table)
		err = fill_table(c, ctx, max);
	if (err)
		return err;
	use_list(c, -1);
	err = keep_list(c, ctx);
	if (!err)
		ifc_set(c->obj->image, rqtc, rqt_max_size, max);
	use_list(c, 1);
	return err;
}

int devx_query_rqt(struct devx_cmd *c)
{
	size_t at = ifc_byte(query_rqt_out, rqt_context), room = c->outlen - at;

	memcpy(c->out + at, c->obj->image, c->obj->image_len < room ? c->obj->image_len : room);
	return 0;
}

void devx_rqt_release(struct mlx5dv_devx_obj *obj)
{
	struct devx_cmd c = { .devx = obj->devx, .obj = obj };

	use_list(&c, -1);
}
