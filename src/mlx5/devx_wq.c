/* SPDX-License-Identifier: BSD-2-Clause */
#include "mlx5/devx_wq.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hca/raw/wq.h"
#include "mlx5/devx_cmd.h"
#include "mlx5/devx_counter.h"
#include "mlx5/devx_mem.h"
#include "mlx5/devx_obj.h"
#include "mlx5/format.h"
#include "mlx5/wq.h"

#define NUMBERS   (1u << 20)
#define LOG_WQ_SZ 15

int devx_wq_number(struct devx_cmd *c)
{
	int err = devx_number(c->obj, 1, NUMBERS, 1);

	if (err)
		return devx_refuse_errno(c, err, DEVX_WHY_OBJECT);
	ifc_set(c->out, obj_out, number, c->obj->number);
	return 0;
}

int devx_need(struct devx_cmd *c, enum devx_kind kind, uint32_t id, const char *what)
{
	struct mlx5dv_devx_obj *obj = devx_find(c->devx, kind, id);

	if (!obj)
		return devx_refuse(c, IFC_STATUS_BAD_RES, DEVX_WHY_OBJECT, "%s 0x%x does not exist",
				   what, id);
	devx_use(c->obj, obj);
	return 0;
}

/* The object holds the CQ until it is destroyed. */
int devx_check_cq(struct devx_cmd *c, uint32_t cqn)
{
	struct hca_cq *cq = devx_hold_cq(c, cqn);

	if (!cq)
		return devx_refuse(c, IFC_STATUS_BAD_RES, DEVX_WHY_CQ,
				   "completion queue 0x%x does not exist", cqn);
	c->obj->held_cq = cq;
	return 0;
}

int devx_check_wq(struct devx_cmd *c, const void *wq, uint32_t min_shift, void *at[2])
{
	unsigned int size = ifc_get(wq, wq, log_wq_sz), stride = ifc_get(wq, wq, log_wq_stride);
	struct devx_ring ring = { .id = ifc_get(wq, wq, wq_umem_id),
				  .offset = ifc_get(wq, wq, wq_umem_offset),
				  .valid = ifc_get(wq, wq, wq_umem_valid),
				  .bytes = 1ull << (size + stride),
				  .align = 64,
				  .what = "ring" };
	struct devx_ring record = { .id = ifc_get(wq, wq, dbr_umem_id),
				    .offset = ifc_get(wq, wq, dbr_addr),
				    .valid = ifc_get(wq, wq, dbr_umem_valid),
				    .bytes = 8,
				    .align = 4,
				    .what = "doorbell record" };
	int err;

	if (size > LOG_WQ_SZ || stride < min_shift)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_SIZE,
				   "2^%u entries of 2^%u bytes; expected up to 2^%u of 2^%u or "
				   "more",
				   size, stride, LOG_WQ_SZ, min_shift);
	err = devx_umem_at(c, 0, &ring, &at[0]);
	return err ? err : devx_umem_at(c, 1, &record, &at[1]);
}

int devx_check_pd(struct devx_cmd *c, uint32_t pdn)
{
	struct hca_pd *pd = devx_hold_pd(c, pdn);

	if (!pd)
		return devx_refuse(c, IFC_STATUS_BAD_RES, DEVX_WHY_PD,
				   "protection domain 0x%x does not exist", pdn);
	c->obj->held_pd = pd;
	return 0;
}

static void fill_flags(const void *ctx, struct hca_wq_init *init)
{
	if (!ifc_get(ctx, rqc, vsd))
		init->flags |= HCA_WQF_CVLAN_STRIPPING;
	if (ifc_get(ctx, rqc, scatter_fcs))
		init->flags |= HCA_WQF_SCATTER_FCS;
	if (ifc_get(ifc_cptr(ctx, rqc, wq), wq, end_padding_mode))
		init->flags |= HCA_WQF_END_PADDING;
}

/* The adapter's work queue on the program's ring. */
static int make_rq(struct devx_cmd *c, const void *ctx, void *const at[2])
{
	const void *wq = ifc_cptr(ctx, rqc, wq);
	bool striding = ifc_get(wq, wq, wq_type) == IFC_WQ_CYCLIC_STRIDING;
	uint32_t shift = ifc_get(wq, wq, log_wq_stride), numbers;
	struct hca_wq_init init = {
		.pd = c->obj->held_pd,
		.cq = c->obj->held_cq,
		.format = &mlx5_format,
		.ring = { .buf = at[0],
			  .size = 1u << ifc_get(wq, wq, log_wq_sz),
			  .slot_shift = shift,
			  .max_sge = (1u << shift) / MLX5_DS - striding,
			  .signature = striding || ifc_get(wq, wq, wq_signature),
			  .db = (volatile uint32_t *)at[1] + MLX5_RCV_DBR },
		.user_index = ifc_get(ctx, rqc, user_index),
		.user = devx_user(c->obj),
	};
	int err;

	if (striding) {
		uint32_t strides = ifc_get(wq, wq, single_wqe_log_num_of_strides);

		/* Four signed bits: fewer than 2^9 strides are a negative number. */
		init.strides_shift = (strides ^ 8) + 1;
		init.stride_shift = ifc_get(wq, wq, single_stride_log_num_of_bytes) + 6;
		init.two_byte_shift = ifc_get(wq, wq, two_byte_shift_en);
		if (init.strides_shift < MLX5_STRIDES_LOG_LEAST)
			return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_SIZE,
					   "2^%u strides; 2^%u are the least", init.strides_shift,
					   MLX5_STRIDES_LOG_LEAST);
	}
	fill_flags(ctx, &init);
	err = hca_wq_create(&init, &c->obj->wq);
	if (err)
		return devx_refuse_errno(c, err, DEVX_WHY_OBJECT);
	numbers = c->obj->wq->wqn;
	return devx_refuse_errno(c, devx_number(c->obj, numbers, numbers + 1, 1), DEVX_WHY_OBJECT);
}

/* An RQ of an RMP has only a CQ of its own. */
static int make_rq_on_rmp(struct devx_cmd *c, const void *ctx)
{
	uint32_t rmpn = ifc_get(ctx, rqc, rmpn), number;
	struct hca_srq *srq = devx_hold_srq(c, rmpn);
	struct hca_wq_init init = { .cq = c->obj->held_cq,
				    .format = &mlx5_format,
				    .srq = srq,
				    .user_index = ifc_get(ctx, rqc, user_index),
				    .user = devx_user(c->obj) };
	int err;

	if (!srq || srq->type != HCA_SRQ_BASIC) {
		if (srq)
			hca_srq_put(srq);
		return devx_refuse(c, IFC_STATUS_BAD_RES, DEVX_WHY_SRQ,
				   "shared memory pool 0x%x does not exist", rmpn);
	}
	init.pd = srq->pd;
	fill_flags(ctx, &init);
	err = hca_wq_create(&init, &c->obj->wq);
	hca_srq_put(srq);
	if (err)
		return devx_refuse_errno(c, err, DEVX_WHY_OBJECT);
	number = c->obj->wq->wqn;
	return devx_refuse_errno(c, devx_number(c->obj, number, number + 1, 1), DEVX_WHY_OBJECT);
}

int devx_create_rq(struct devx_cmd *c)
{
	const void *ctx = ifc_cptr(c->in, create_rq_in, ctx), *wq = ifc_cptr(ctx, rqc, wq);
	unsigned int memory = ifc_get(ctx, rqc, mem_rq_type);
	bool own = memory == IFC_MEM_RQ_INLINE;
	void *at[2] = { NULL, NULL };
	struct hca_counters *set;
	int err = 0;

	if (memory != IFC_MEM_RQ_INLINE && memory != IFC_MEM_RQ_RMP)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_TYPE,
				   "mem_rq_type %u; 0 (inline) and 1 (RMP) are offered", memory);

	if (ifc_get(ctx, rqc, hairpin))
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_OFFERED,
				   "hairpin queues are not offered, see the capabilities");
	if (own) {
		err = devx_check_wq(c, wq, 4, at);
		if (!err)
			err = devx_check_pd(c, ifc_get(wq, wq, pd));
	}
	if (!err)
		err = devx_check_cq(c, ifc_get(ctx, rqc, cqn));
	if (!err)
		err = devx_keep(c, ctx, ifc_len(rqc));
	if (!err)
		err = devx_counters_find(c, ifc_get(ctx, rqc, counter_set_id), &set);
	if (!err)
		err = own ? make_rq(c, ctx, at) : make_rq_on_rmp(c, ctx);
	if (!err) {
		hca_wq_set_counters(c->obj->wq, set);
		ifc_set(c->out, obj_out, number, c->obj->number);
		ifc_set(c->obj->image, rqc, state, IFC_WQ_RST);
	}
	return err;
}

/*
 * Legal: RST to RDY, RST and RDY to ERR, any to RST, any to itself. A queue that failed is no
 * longer in the state that the last command set (`left`); DPDK resets it from either state.
 */
int devx_check_transition(struct devx_cmd *c, unsigned int named, unsigned int left,
			  unsigned int from, unsigned int to)
{
	bool fine = to == from || to == IFC_WQ_RST || (from == IFC_WQ_RST && to == IFC_WQ_RDY) ||
		    (to == IFC_WQ_ERR);

	if (named != from && named != left)
		return devx_refuse(c, IFC_STATUS_BAD_RES_STATE, DEVX_WHY_STATE,
				   "queue 0x%x is in state %u, not in %u", c->obj->number, from,
				   named);
	if (!fine || (to != IFC_WQ_RST && to != IFC_WQ_RDY && to != IFC_WQ_ERR))
		return devx_refuse(c, IFC_STATUS_BAD_RES_STATE, DEVX_WHY_STATE,
				   "a queue does not go from state %u to %u", from, to);
	return 0;
}

/* The present state and indexes. */
static unsigned int rq_state(const struct mlx5dv_devx_obj *obj, uint32_t *taken)
{
	*taken = 0;
	if (!obj->wq)
		return ifc_get(obj->image, rqc, state);
	switch (hca_wq_progress(obj->wq, taken)) {
	case HCA_WQS_RDY:
		return IFC_WQ_RDY;
	case HCA_WQS_ERR:
		return IFC_WQ_ERR;
	default:
		return IFC_WQ_RST;
	}
}

static int change_rq_state(struct hca_wq *wq, unsigned int state)
{
	if (state == IFC_WQ_RDY)
		return hca_wq_modify(wq, HCA_WQS_RDY);
	return hca_wq_modify(wq, state == IFC_WQ_ERR ? HCA_WQS_ERR : HCA_WQS_RESET);
}

int devx_modify_rq(struct devx_cmd *c)
{
	const void *ctx = ifc_cptr(c->in, modify_rq_in, ctx);
	uint64_t mask = ifc_get(c->in, modify_rq_in, modify_bitmask);
	uint8_t *image = c->obj->image;
	struct hca_counters *set = NULL;
	uint32_t taken;
	int err = devx_check_transition(c, ifc_get(c->in, modify_rq_in, rq_state),
					ifc_get(image, rqc, state), rq_state(c->obj, &taken),
					ifc_get(ctx, rqc, state));

	if (!err && mask & IFC_MODIFY_RQ_COUNTER_SET)
		err = devx_counters_find(c, ifc_get(ctx, rqc, counter_set_id), &set);
	if (!err && c->obj->wq)
		err = devx_refuse_errno(c, change_rq_state(c->obj->wq, ifc_get(ctx, rqc, state)),
					DEVX_WHY_STATE);
	if (err)
		return err;
	ifc_set(image, rqc, state, ifc_get(ctx, rqc, state));
	if (mask & IFC_MODIFY_RQ_VSD) {
		ifc_set(image, rqc, vsd, ifc_get(ctx, rqc, vsd));
		if (c->obj->wq)
			hca_wq_set_vlan_stripping(c->obj->wq, !ifc_get(ctx, rqc, vsd));
	}
	if (mask & IFC_MODIFY_RQ_SCATTER_FCS)
		ifc_set(image, rqc, scatter_fcs, ifc_get(ctx, rqc, scatter_fcs));
	if (mask & IFC_MODIFY_RQ_COUNTER_SET) {
		ifc_set(image, rqc, counter_set_id, ifc_get(ctx, rqc, counter_set_id));
		if (c->obj->wq)
			hca_wq_set_counters(c->obj->wq, set);
	}
	if (mask & IFC_MODIFY_RQ_LWM)
		ifc_set(ifc_ptr(image, rqc, wq), wq, lwm, ifc_get(ifc_cptr(ctx, rqc, wq), wq, lwm));
	return 0;
}

int devx_query_rq(struct devx_cmd *c)
{
	uint8_t *ctx = ifc_ptr(c->out, query_rq_out, rq_context), *wq = ifc_ptr(ctx, rqc, wq);
	const struct hca_wq *queue = c->obj->wq;
	uint32_t taken;

	memcpy(ctx, c->obj->image, c->obj->image_len);
	ifc_set(ctx, rqc, state, rq_state(c->obj, &taken));
	if (queue && !queue->srq && ifc_get(ctx, rqc, state) != IFC_WQ_RST) {
		ifc_set(wq, wq, hw_counter, taken & UINT16_MAX);
		ifc_set(wq, wq, sw_counter, queue->format->rq_producer(&queue->ring));
	}
	return 0;
}

struct hca_wq *devx_wq_find(struct devx *devx, uint32_t rqn, struct mlx5dv_devx_obj **rq)
{
	*rq = devx_find(devx, DEVX_RQ, rqn);
	return *rq ? (*rq)->wq : mlx5_wq_find(devx->ctx, rqn);
}
