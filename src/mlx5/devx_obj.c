/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What all DEVX objects have in common: numbers, who needs whom, and how they go. All of it with
 * devx.lock held.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hca/memory/mkey.h"
#include "hca/transport/shaper.h"
#include "mlx5/devx.h"

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

/* A number that was given back comes again only after all others. */
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

static int destroy_eq(struct mlx5dv_devx_obj *obj)
{
	if (atomic_load(&obj->eq->users))
		return hca_eq_destroy(obj->eq); /* which says why not */
	devx_eq_unlist(obj->user_eq);
	return hca_eq_destroy(obj->eq);
}

/* What the object is at the adapter goes first, and may say no. */
static int destroy_hca(struct mlx5dv_devx_obj *obj)
{
	switch (obj->kind) {
	case DEVX_PD:
		return hca_pd_destroy(obj->pd);
	case DEVX_XRCD:
		hca_xrcd_close(obj->xrcd);
		return 0;
	case DEVX_MKEY:
		if (!obj->indirect)
			return hca_mr_destroy(obj->mr);
		hca_mkey_destroy(obj->mkey);
		return 0;
	case DEVX_CQ:
		return hca_cq_destroy(obj->cq);
	case DEVX_EQ:
		return destroy_eq(obj);
	case DEVX_QP:
	case DEVX_DCT:
	case DEVX_SQ:
		return hca_qp_destroy(obj->qp);
	case DEVX_SRQ:
	case DEVX_XRC_SRQ:
	case DEVX_RMP:
		return hca_srq_destroy(obj->srq);
	case DEVX_MCG:
		return devx_mcg_detach(obj);
	case DEVX_RQ:
		return hca_wq_destroy(obj->wq);
	case DEVX_RQT:
		return hca_ind_table_destroy(obj->ind_table);
	case DEVX_TIR:
		return devx_tir_destroy(obj);
	case DEVX_FLOW_TABLE:
		return devx_flow_table_destroy(obj);
	case DEVX_FLOW_GROUP:
		return devx_flow_group_destroy(obj);
	case DEVX_FLOW_ENTRY:
		return devx_fte_destroy(obj);
	case DEVX_Q_COUNTER:
		hca_counters_put(obj->q_counters);
		return 0;
	case DEVX_SCHED:
		hca_shaper_put(obj->shaper);
		return 0;
	case DEVX_REFORMAT:
	case DEVX_MODIFY_HEADER:
		flow_edit_put(obj->edit);
		return 0;
	default:
		return 0;
	}
}

static void forget_numbers(struct mlx5dv_devx_obj *obj)
{
	uint32_t n = obj->count ? obj->count : 1;

	if (!obj->number)
		return;
	for (uint32_t i = 0; i < n; i++)
		if (devx_find(obj->devx, obj->kind, obj->number + i) == obj)
			hca_table_set(obj->devx->tables[obj->kind], obj->number + i, NULL);
}

void devx_obj_drop(struct mlx5dv_devx_obj *obj)
{
	struct devx *devx = obj->devx;

	forget_numbers(obj);
	devx_subs_drop(obj);
	for (int i = 0; i < DEVX_USES; i++)
		if (obj->uses[i])
			obj->uses[i]->users--;
	for (int i = 0; i < 2; i++)
		if (obj->umem[i])
			obj->umem[i]->users--;
	if (obj->next)
		obj->next->prev = obj->prev;
	if (obj->prev)
		obj->prev->next = obj->next;
	else if (devx->objs == obj)
		devx->objs = obj->next;
	if (obj->kind == DEVX_RQT && obj->image && obj->number)
		devx_rqt_release(obj);
	if (obj->held_cq)
		hca_cq_put(obj->held_cq);
	if (obj->held_pd)
		hca_pd_put(obj->held_pd);
	if (obj->user_eq)
		devx_eq_release(obj->user_eq);
	if (obj->counters)
		flow_counter_put(obj->counters);
	free(obj->image);
	free(obj);
}

void devx_obj_abort(struct mlx5dv_devx_obj *obj)
{
	if (obj->hca)
		destroy_hca(obj);
	devx_obj_drop(obj);
}

int devx_obj_destroy(struct mlx5dv_devx_obj *obj)
{
	int err;

	if (obj->users)
		return explain(EBUSY, "%u other objects need object 0x%x", obj->users, obj->number);
	err = obj->hca ? destroy_hca(obj) : 0;
	if (!err)
		devx_obj_drop(obj);
	return err;
}

/* ---- with the context ---- */

int devx_init(struct mlx5_context *ctx)
{
	struct devx *devx = calloc(1, sizeof(*devx));

	if (!devx)
		return -ENOMEM;
	devx->ctx = ctx;
	devx->events_fd = -1;
	pthread_mutex_init(&devx->lock, NULL);
	pthread_mutex_init(&devx->event_lock, NULL);
	ctx->devx = devx;
	hca_async_set_tap(&ctx->vb->async, devx_event_tap, devx);
	return 0;
}

/* What is left goes as it does when a process ends: whoever is needed by nobody first. */
static void destroy_all(struct devx *devx)
{
	bool gone = true;

	while (gone) {
		struct mlx5dv_devx_obj *next;

		gone = false;
		for (struct mlx5dv_devx_obj *obj = devx->objs; obj; obj = next) {
			next = obj->next;
			if (!devx_obj_destroy(obj))
				gone = true;
		}
	}
}

void devx_fini(struct mlx5_context *ctx)
{
	struct devx *devx = ctx->devx;

	hca_async_set_tap(&ctx->vb->async, NULL, NULL);
	destroy_all(devx);
	devx_vectors_fini(devx);
	devx_uars_fini(devx);
	if (devx->events_fd >= 0)
		close(devx->events_fd);
	for (int i = 0; i < DEVX_KINDS; i++)
		if (devx->tables[i]) {
			hca_table_fini(devx->tables[i]);
			free(devx->tables[i]);
		}
	pthread_mutex_destroy(&devx->event_lock);
	pthread_mutex_destroy(&devx->lock);
	free(devx);
}
