/* SPDX-License-Identifier: BSD-2-Clause */
#include "mlx5/devx_destroy.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "hca/memory/mkey.h"
#include "hca/queue/eq.h"
#include "hca/queue/sq_register.h"
#include "hca/raw/flow.h"
#include "hca/raw/rss.h"
#include "hca/transport/shaper.h"
#include "mlx5/devx_aso.h"
#include "mlx5/devx_eq.h"
#include "mlx5/devx_event.h"
#include "mlx5/devx_export.h"
#include "mlx5/devx_flow.h"
#include "mlx5/devx_fte.h"
#include "mlx5/devx_general.h"
#include "mlx5/devx_obj.h"
#include "mlx5/devx_psv.h"
#include "mlx5/devx_qp.h"
#include "mlx5/devx_rqt.h"
#include "mlx5/devx_tir.h"
#include "mlx5/devx_uar.h"
#include "mlx5/devx_vector.h"
#include "mlx5/state.h"
#include "util/explain.h"

static int destroy_eq(struct mlx5dv_devx_obj *obj)
{
	if (atomic_load(&obj->eq->users))
		return hca_eq_destroy(obj->eq); /* explains EBUSY */
	devx_eq_unlist(obj->user_eq);
	return hca_eq_destroy(obj->eq);
}

/* Destroys the adapter's object, which may refuse. */
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
	case DEVX_PSV:
		devx_psv_destroy(obj);
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
	case DEVX_XRQ:
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
	case DEVX_GENERAL:
		return devx_general_destroy(obj);
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

/* An object that an importer has destroyed: its creator still has the handle. */
static void leave_handle(struct mlx5dv_devx_obj *obj)
{
	*obj = (struct mlx5dv_devx_obj){ .devx = obj->devx, .shared.gone = true };
}

/* Frees the object and all that it holds. */
static void drop(struct mlx5dv_devx_obj *obj)
{
	forget_numbers(obj);
	devx_subs_drop(obj);
	for (int i = 0; i < DEVX_USES; i++)
		if (obj->uses[i])
			obj->uses[i]->users--;
	for (int i = 0; i < 2; i++)
		if (obj->umem[i])
			obj->umem[i]->users--;
	if (obj->handle)
		LIST_REMOVE(obj, link);
	if (obj->kind == DEVX_RQT && obj->image && obj->number)
		devx_rqt_release(obj);
	if (obj->held_cq)
		hca_cq_put(obj->held_cq);
	if (obj->held_pd)
		hca_pd_put(obj->held_pd);
	if (obj->sq_register)
		hca_sq_register_destroy(obj->sq_register);
	if (obj->user_eq)
		devx_eq_release(obj->user_eq);
	if (obj->counters)
		flow_counter_put(obj->counters);
	free(obj->image);
	devx_export_forget(obj->shared.entry);
	if (obj->shared.keep_handle)
		leave_handle(obj);
	else
		free(obj);
}

void devx_obj_abort(struct mlx5dv_devx_obj *obj)
{
	if (obj->hca)
		destroy_hca(obj);
	drop(obj);
}

int devx_obj_destroy(struct mlx5dv_devx_obj *obj)
{
	int err;

	if (obj->users)
		return explain(EBUSY, "%u other objects need object 0x%x", obj->users, obj->number);
	err = obj->hca ? destroy_hca(obj) : 0;
	if (!err)
		drop(obj);
	return err;
}

int devx_init(struct mlx5_context *ctx)
{
	struct devx *devx = calloc(1, sizeof(*devx));

	if (!devx)
		return -ENOMEM;
	devx->ctx = ctx;
	devx->events_fd = -1;
	/* Contexts begin at different numbers: an imported umem then keeps the number it has. */
	devx->last[DEVX_UMEM] =
		(uint32_t)((uintptr_t)devx >> 4 ^ (uint32_t)getpid() * 0x9e3779b1u) & 0xffffff;
	pthread_mutex_init(&devx->lock, NULL);
	pthread_mutex_init(&devx->event_lock, NULL);
	ctx->devx = devx;
	hca_async_set_tap(&ctx->vb->async, devx_event_async, devx);
	return 0;
}

/* Objects that no other object uses first. */
static void destroy_all(struct devx *devx)
{
	bool gone = true;

	while (gone) {
		struct mlx5dv_devx_obj *obj, *next;

		gone = false;
		for (obj = LIST_FIRST(&devx->objs); obj; obj = next) {
			next = LIST_NEXT(obj, link);
			if (!devx_obj_destroy(obj))
				gone = true;
		}
	}
}

void devx_fini(struct mlx5_context *ctx)
{
	struct devx *devx = ctx->devx;

	hca_async_set_tap(&ctx->vb->async, NULL, NULL);
	pthread_mutex_lock(&mlx5_state.export_lock);
	destroy_all(devx);
	devx_export_forget_all(devx);
	pthread_mutex_unlock(&mlx5_state.export_lock);
	devx_aso_fini(devx);
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
