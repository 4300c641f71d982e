/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An SQ sends frames from a ring in user memory. For the adapter it is a raw packet QP that does
 * not receive; its number is the SQ's. A rate is an entry of the pacing table (mlx5dv_pp_alloc()).
 */
#include "mlx5/devx_sq.h"

#include <errno.h>
#include <string.h>

#include "driver/record.h"
#include "hca/transport/qp_modify.h"
#include "hca/transport/qp_watch.h"
#include "mlx5/devx_cmd.h"
#include "mlx5/devx_lag.h"
#include "mlx5/devx_obj.h"
#include "mlx5/devx_uar.h"
#include "mlx5/devx_wq.h"
#include "mlx5/dv_sched.h"
#include "mlx5/format.h"

#define BLOCK_SHIFT 6u

/* A bonded link, as the TIS has it; otherwise frames spread over links by their flows. */
static uint8_t affinity_of(struct devx_cmd *c, const void *ctx)
{
	const struct mlx5dv_devx_obj *tis =
		ifc_get(ctx, sqc, tis_lst_sz)
			? devx_find(c->devx, DEVX_TIS, ifc_get(ctx, sqc, tis_num_0))
			: NULL;

	return devx_lag_of(c, tis ? ifc_get(tis->image, tisc, lag_tx_port_affinity) : 0,
			   HCA_LAG_BY_FLOW);
}

static int make(struct devx_cmd *c, const void *ctx, void *const at[2])
{
	const void *wq = ifc_cptr(ctx, sqc, wq);
	struct hca_qp_init init = {
		.type = HCA_QP_RAW,
		.ctx = &c->devx->ctx->vb->hca,
		.pd = c->obj->held_pd,
		.send_cq = c->obj->held_cq,
		.recv_cq = c->obj->held_cq,
		.format = &mlx5_format,
		.sq = { .buf = at[0],
			.size = 1u << ifc_get(wq, wq, log_wq_sz),
			.slot_shift = BLOCK_SHIFT,
			.db = (volatile uint32_t *)at[1] + MLX5_SND_DBR },
		.user_index = ifc_get(ctx, sqc, user_index),
		.lag = affinity_of(c, ctx),
		.user = devx_user(c->obj),
	};
	int err = hca_qp_create(&init, &c->obj->qp);

	if (!err)
		err = hca_doorbell_watch_qp(c->obj->qp);
	if (err)
		return devx_refuse_errno(c, err, DEVX_WHY_OBJECT);
	c->obj->number = c->obj->qp->qpn;
	ifc_set(c->out, obj_out, number, c->obj->number);
	return 0;
}

static int check_rate(struct devx_cmd *c, const void *ctx, struct hca_qp_attr *out)
{
	uint32_t index = ifc_get(ctx, sqc, packet_pacing_rate_limit_index);

	if (!index || mlx5_rate_find(c->adapter, index, &out->rate_limit, &out->burst))
		return 0;
	return devx_refuse(c, IFC_STATUS_BAD_RES, DEVX_WHY_INDEX,
			   "packet_pacing_rate_limit_index %u does not exist", index);
}

/* The scheduling element that the queue sends through; 0: none. */
static int find_element(struct devx_cmd *c, const void *ctx, struct mlx5dv_devx_obj **out)
{
	uint32_t id = ifc_get(ctx, sqc, qos_queue_group_id);

	*out = id ? devx_find(c->devx, DEVX_SCHED, id) : NULL;
	if (!id || (*out && ifc_get((*out)->image, scheduling_context, element_type) ==
				    IFC_SCHED_QUEUE_GROUP))
		return 0;
	return devx_refuse(c, IFC_STATUS_BAD_RES, DEVX_WHY_OBJECT,
			   "qos_queue_group_id 0x%x is no queue group", id);
}

static void join_element(struct devx_cmd *c, struct mlx5dv_devx_obj *group)
{
	struct mlx5dv_devx_obj **uses = c->obj->uses;

	for (int i = 0; i < DEVX_USES; i++)
		if (uses[i] && uses[i]->kind == DEVX_SCHED) {
			uses[i]->users--;
			uses[i] = NULL;
		}
	if (group)
		devx_use(c->obj, group);
	if (c->obj->qp)
		hca_qp_set_shaper(c->obj->qp, group ? group->shaper : NULL);
}

int devx_create_sq(struct devx_cmd *c)
{
	const void *ctx = ifc_cptr(c->in, create_sq_in, ctx), *wq = ifc_cptr(ctx, sqc, wq);
	void *at[2] = { NULL, NULL };
	struct mlx5dv_devx_obj *group = NULL;
	struct hca_qp_attr rate = { 0 };
	int err = 0;

	if (ifc_get(ctx, sqc, hairpin))
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_OFFERED,
				   "hairpin queues are not offered, see the capabilities");
	err = devx_check_wq(c, wq, BLOCK_SHIFT, at);
	if (!err && ifc_get(wq, wq, log_wq_stride) != BLOCK_SHIFT)
		err = devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_SIZE,
				  "log_wq_stride %u; blocks have 2^%u bytes",
				  (unsigned int)ifc_get(wq, wq, log_wq_stride), BLOCK_SHIFT);
	if (!err)
		err = devx_check_pd(c, ifc_get(wq, wq, pd));
	if (!err)
		err = devx_uar_use(c, ifc_get(wq, wq, uar_page), NULL);
	if (!err)
		err = devx_check_cq(c, ifc_get(ctx, sqc, cqn));
	if (!err && ifc_get(ctx, sqc, tis_lst_sz))
		err = devx_need(c, DEVX_TIS, ifc_get(ctx, sqc, tis_num_0), "TIS");
	if (!err)
		err = check_rate(c, ctx, &rate);
	if (!err)
		err = find_element(c, ctx, &group);
	if (!err)
		err = devx_keep(c, ctx, ifc_len(sqc));
	if (!err)
		err = c->devx->ctx->ethernet ? make(c, ctx, at) : devx_wq_number(c);
	if (err)
		return err;
	join_element(c, group);
	ifc_set(c->obj->image, sqc, state, IFC_WQ_RST);
	return 0;
}

/* An SQ has fewer states than a QP. */
static int change_state(struct hca_qp *qp, unsigned int state)
{
	struct hca_qp_attr attr = { .port = 1 };
	int err = 0;

	if (state != IFC_WQ_RDY) {
		attr.state = state == IFC_WQ_ERR ? HCA_QPS_ERR : HCA_QPS_RESET;
		err = hca_qp_modify(qp, &attr, HCA_QPM_STATE);
		if (!err && state != IFC_WQ_ERR)
			drv_record_store(qp->sq.db, 0); /* see devx_modify_qp() */
		return err;
	}
	if (qp->state == HCA_QPS_RTS)
		return 0;
	for (attr.state = HCA_QPS_INIT; !err && attr.state <= HCA_QPS_RTS; attr.state++)
		err = hca_qp_modify(
			qp, &attr, HCA_QPM_STATE | (attr.state == HCA_QPS_INIT ? HCA_QPM_PORT : 0));
	return err;
}

/* A rate can be set in RTS only; in other states the call succeeds and sets none. */
static int set_rate(struct hca_qp *qp, const struct hca_qp_attr *rate)
{
	return qp->state == HCA_QPS_RTS ? hca_qp_modify(qp, rate, HCA_QPM_RATE_LIMIT) : 0;
}

/* The present state: a WQE that fails puts the queue into ERR. */
static unsigned int sq_state(const struct mlx5dv_devx_obj *obj)
{
	enum hca_qp_state state;

	if (!obj->qp)
		return ifc_get(obj->image, sqc, state);
	state = __atomic_load_n(&obj->qp->state, __ATOMIC_RELAXED);
	if (state == HCA_QPS_ERR || state == HCA_QPS_SQE)
		return IFC_WQ_ERR;
	return state == HCA_QPS_RTS ? IFC_WQ_RDY : IFC_WQ_RST;
}

int devx_query_sq(struct devx_cmd *c)
{
	uint8_t *ctx = ifc_ptr(c->out, query_sq_out, sq_context), *wq = ifc_ptr(ctx, sqc, wq);
	struct hca_qp *qp = c->obj->qp;
	struct hca_qp_progress p;

	memcpy(ctx, c->obj->image, c->obj->image_len);
	ifc_set(ctx, sqc, state, sq_state(c->obj));
	if (qp && ifc_get(ctx, sqc, state) != IFC_WQ_RST) {
		hca_qp_progress(qp, &p);
		ifc_set(wq, wq, hw_counter, p.send_index & UINT16_MAX);
		ifc_set(wq, wq, sw_counter, qp->format->sq_producer(&qp->sq));
	}
	return 0;
}

int devx_modify_sq(struct devx_cmd *c)
{
	const void *ctx = ifc_cptr(c->in, modify_sq_in, ctx);
	uint64_t mask = ifc_get(c->in, modify_sq_in, modify_bitmask);
	unsigned int state = ifc_get(ctx, sqc, state), now = sq_state(c->obj);
	bool rated = mask & IFC_MODIFY_SQ_RATE_LIMIT;
	struct mlx5dv_devx_obj *group = NULL;
	struct hca_qp_attr rate = { 0 };
	uint8_t *image = c->obj->image;
	int err = devx_check_transition(c, ifc_get(c->in, modify_sq_in, sq_state),
					ifc_get(image, sqc, state), now, state);

	if (!err)
		err = check_rate(c, rated ? ctx : image, &rate);
	if (!err && mask & IFC_MODIFY_SQ_QOS_GROUP)
		err = find_element(c, ctx, &group);
	if (!err && c->obj->qp && state != now)
		err = devx_refuse_errno(c, change_state(c->obj->qp, state), DEVX_WHY_STATE);
	if (!err && c->obj->qp)
		err = devx_refuse_errno(c, set_rate(c->obj->qp, &rate), DEVX_WHY_STATE);
	if (err)
		return err;
	ifc_set(image, sqc, state, state);
	if (mask & IFC_MODIFY_SQ_QOS_GROUP) {
		join_element(c, group);
		ifc_set(image, sqc, qos_queue_group_id, ifc_get(ctx, sqc, qos_queue_group_id));
	}
	if (rated)
		ifc_set(image, sqc, packet_pacing_rate_limit_index,
			ifc_get(ctx, sqc, packet_pacing_rate_limit_index));
	return 0;
}
