/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared receive queues in user memory: RMP (for QPs of one protection domain, and for RQs), XRC
 * SRQ, XRQ (which matches tags), and the older SRQ. The PRM has a list of page addresses for the
 * last one; here it has a umem, in the place where an XRC SRQ has it.
 */
#include "mlx5/devx_srq.h"

#include <errno.h>
#include <string.h>

#include "mlx5/devx_cmd.h"
#include "mlx5/devx_mem.h"
#include "mlx5/devx_obj.h"
#include "mlx5/format.h"
#include "mlx5/tag.h"

#define LOG_SIZE_MAX 15u
#define STRIDE_MIN   4u
#define STRIDE_MAX   9u

static int check_shape(struct devx_cmd *c, unsigned int log_size, unsigned int shift, bool linked)
{
	if (log_size > LOG_SIZE_MAX || shift < STRIDE_MIN + linked || shift > STRIDE_MAX)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_SIZE,
				   "2^%u entries of 2^%u bytes; expected up to 2^%u of 2^%u to "
				   "2^%u",
				   log_size, shift, LOG_SIZE_MAX, STRIDE_MIN + linked, STRIDE_MAX);
	return 0;
}

static int find_memory(struct devx_cmd *c, struct devx_ring *ring, struct devx_ring *record,
		       struct hca_srq_init *init)
{
	void *at;
	int err;

	ring->bytes = (uint64_t)init->ring.size << init->ring.slot_shift;
	ring->align = 16;
	ring->what = "ring";
	record->bytes = 4;
	record->align = 4;
	record->what = "doorbell record";
	err = devx_umem_at(c, 0, ring, &init->ring.buf);
	if (!err)
		err = devx_umem_at(c, 1, record, &at);
	if (!err)
		init->ring.db = at;
	return err;
}

static int make(struct devx_cmd *c, uint32_t pdn, struct hca_srq_init *init)
{
	int err;

	init->format = &mlx5_format;
	init->user = devx_user(c->obj);
	init->pd = devx_hold_pd(c, pdn);
	if (!init->pd)
		return devx_refuse(c, IFC_STATUS_BAD_RES, DEVX_WHY_PD,
				   "protection domain 0x%x does not exist", pdn);
	err = hca_srq_create(init, &c->obj->srq);
	hca_pd_put(init->pd);
	if (err)
		return devx_refuse_errno(c, err, DEVX_WHY_MEMORY);
	c->obj->number = c->obj->srq->srqn;
	ifc_set(c->out, obj_out, number, c->obj->number);
	return 0;
}

/* ---- RMP ---- */

int devx_create_rmp(struct devx_cmd *c)
{
	const void *ctx = ifc_cptr(c->in, create_rmp_in, ctx), *wq = ifc_cptr(ctx, rmpc, wq);
	unsigned int type = ifc_get(wq, wq, wq_type), shift = ifc_get(wq, wq, log_wq_stride);
	unsigned int log_size = ifc_get(wq, wq, log_wq_sz);
	bool cyclic = type == IFC_WQ_CYCLIC;
	/* WQEs start with a link segment, used or not, unless basic_cyclic_rcv_wqe is set. */
	bool linked = !cyclic || !ifc_get(ctx, rmpc, basic_cyclic_rcv_wqe);
	struct hca_srq_init init = {
		.type = HCA_SRQ_BASIC,
		.user_index = HCA_SRQ_NO_INDEX,
		.ring = { .slot_shift = shift, .signature = linked, .cyclic = cyclic },
	};
	struct devx_ring ring = { .id = ifc_get(wq, wq, wq_umem_id),
				  .offset = ifc_get(wq, wq, wq_umem_offset),
				  .valid = ifc_get(wq, wq, wq_umem_valid) };
	struct devx_ring record = { .id = ifc_get(wq, wq, dbr_umem_id),
				    .offset = ifc_get(wq, wq, dbr_addr),
				    .valid = ifc_get(wq, wq, dbr_umem_valid) };
	int err;

	if (type != IFC_WQ_LINKED_LIST && !cyclic)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_TYPE,
				   "wq_type %u; 0 (linked list) and 1 (cyclic) are offered", type);
	err = check_shape(c, log_size, shift, linked);
	if (err)
		return err;
	init.ring.size = 1u << log_size;
	init.ring.max_sge = (1u << shift) / MLX5_DS - linked;
	err = find_memory(c, &ring, &record, &init);
	if (!err)
		err = devx_keep(c, ctx, ifc_len(rmpc));
	if (!err)
		err = make(c, ifc_get(wq, wq, pd), &init);
	if (err)
		return err;
	ifc_set(c->obj->image, rmpc, state, IFC_WQ_RDY);
	hca_srq_set_limit(c->obj->srq, ifc_get(wq, wq, lwm));
	return 0;
}

int devx_query_rmp(struct devx_cmd *c)
{
	void *ctx = ifc_ptr(c->out, query_rmp_out, rmp_context), *wq = ifc_ptr(ctx, rmpc, wq);
	struct hca_srq *srq = c->obj->srq;

	memcpy(ctx, c->obj->image, c->obj->image_len);
	ifc_set(wq, wq, lwm, hca_srq_limit(srq));
	ifc_set(wq, wq, hw_counter, srq->taken);
	ifc_set(wq, wq, sw_counter, srq->format->rq_producer(&srq->ring));
	return 0;
}

int devx_modify_rmp(struct devx_cmd *c)
{
	const void *ctx = ifc_cptr(c->in, modify_rmp_in, ctx), *wq = ifc_cptr(ctx, rmpc, wq);
	uint64_t mask = ifc_get(c->in, modify_rmp_in, modify_bitmask);

	if (mask & ~(uint64_t)IFC_MODIFY_RMP_LWM)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_FIELD,
				   "modify_bitmask 0x%llx; 0x%x is known", (unsigned long long)mask,
				   IFC_MODIFY_RMP_LWM);
	if (mask & IFC_MODIFY_RMP_LWM)
		hca_srq_set_limit(c->obj->srq, ifc_get(wq, wq, lwm));
	return 0;
}

/* ---- SRQ and XRC SRQ ---- */

static int find_xrc(struct devx_cmd *c, const void *ctx, struct hca_srq_init *init)
{
	uint32_t number = ifc_get(ctx, xrc_srqc, xrcd), cqn = ifc_get(ctx, xrc_srqc, cqn);
	struct mlx5dv_devx_obj *xrcd = devx_find(c->devx, DEVX_XRCD, number);

	if (!xrcd)
		return devx_refuse(c, IFC_STATUS_BAD_RES, DEVX_WHY_OBJECT,
				   "XRC domain 0x%x does not exist", number);
	init->cq = devx_hold_cq(c, cqn);
	if (!init->cq)
		return devx_refuse(c, IFC_STATUS_BAD_RES, DEVX_WHY_CQ,
				   "completion queue 0x%x does not exist", cqn);
	init->xrcd = hca_xrcd_number(xrcd->xrcd);
	devx_use(c->obj, xrcd);
	return 0;
}

/* SRQ and XRC SRQ have the same context at the same offset. */
static int create_list(struct devx_cmd *c, bool xrc)
{
	const void *ctx = ifc_cptr(c->in, create_xrc_srq_in, xrc_srq_context_entry);
	unsigned int shift = STRIDE_MIN + ifc_get(ctx, xrc_srqc, log_rq_stride);
	unsigned int log_size = ifc_get(ctx, xrc_srqc, log_xrc_srq_size);
	struct hca_srq_init init = {
		.type = xrc ? HCA_SRQ_XRC : HCA_SRQ_BASIC,
		.ring = { .slot_shift = shift, .signature = true, .size = 1u << log_size },
		.user_index = xrc ? ifc_get(ctx, xrc_srqc, user_index) : HCA_SRQ_NO_INDEX,
	};
	struct devx_ring ring = { .id = ifc_get(c->in, create_xrc_srq_in, xrc_srq_umem_id),
				  .offset = ifc_get(c->in, create_xrc_srq_in, xrc_srq_umem_offset),
				  .valid = ifc_get(c->in, create_xrc_srq_in, xrc_srq_umem_valid) };
	/* The doorbell record is in the ring's umem. */
	struct devx_ring record = { .id = ring.id,
				    .offset = ifc_get(ctx, xrc_srqc, dbr_addr),
				    .valid = ifc_get(ctx, xrc_srqc, dbr_umem_valid) };
	int err = check_shape(c, log_size, shift, true);

	if (err)
		return err;
	init.ring.max_sge = (1u << shift) / MLX5_DS - 1;
	err = find_memory(c, &ring, &record, &init);
	if (!err)
		err = devx_keep(c, ctx, ifc_len(xrc_srqc));
	if (!err && xrc)
		err = find_xrc(c, ctx, &init);
	if (err)
		return err;
	err = make(c, ifc_get(ctx, xrc_srqc, pd), &init);
	if (init.cq)
		hca_cq_put(init.cq);
	if (err)
		return err;
	if (xrc && ifc_get(ctx, xrc_srqc, user_index_equal_xrc_srqn))
		c->obj->srq->user_index = c->obj->number;
	hca_srq_set_limit(c->obj->srq, ifc_get(ctx, xrc_srqc, lwm));
	return 0;
}

int devx_create_xrc_srq(struct devx_cmd *c)
{
	return create_list(c, true);
}

int devx_create_srq(struct devx_cmd *c)
{
	return create_list(c, false);
}

int devx_query_srq(struct devx_cmd *c)
{
	void *ctx = ifc_ptr(c->out, query_xrc_srq_out, xrc_srq_context_entry);

	memcpy(ctx, c->obj->image, c->obj->image_len);
	ifc_set(ctx, xrc_srqc, lwm, hca_srq_limit(c->obj->srq));
	ifc_set(ctx, xrc_srqc, wqe_cnt, hca_srq_posted(c->obj->srq));
	return 0;
}

int devx_arm_rq(struct devx_cmd *c)
{
	if (devx_op_mod(c) != IFC_ARM_SRQ)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_OP_MOD,
				   "op_mod %u; %u arms a shared receive queue", devx_op_mod(c),
				   IFC_ARM_SRQ);
	hca_srq_set_limit(c->obj->srq, ifc_get(c->in, arm_rq_in, lwm));
	return 0;
}

/* ---- XRQ ---- */

/* The ring is that of an RMP; changes of the list are WQEs of a QP that receives through the XRQ. */
int devx_create_xrq(struct devx_cmd *c)
{
	const void *ctx = ifc_cptr(c->in, create_xrq_in, xrq_context),
		   *wq = ifc_cptr(ctx, xrqc, wq);
	const void *tm = ifc_cptr(ctx, xrqc, tag_matching_topology_context);
	unsigned int log_list = ifc_get(tm, tag_matching_topology_context, log_matching_list_sz);
	unsigned int type = ifc_get(wq, wq, wq_type), shift = ifc_get(wq, wq, log_wq_stride);
	unsigned int log_size = ifc_get(wq, wq, log_wq_sz), topology = ifc_get(ctx, xrqc, topology);
	uint32_t cqn = ifc_get(ctx, xrqc, cqn);
	struct hca_srq_init init = {
		.type = HCA_SRQ_TAG,
		.user_index = ifc_get(ctx, xrqc, user_index),
		/* WQEs start with a link segment, used or not. */
		.ring = { .slot_shift = shift, .signature = true, .cyclic = type == IFC_WQ_CYCLIC },
		.tags = 1u << log_list,
	};
	struct devx_ring ring = { .id = ifc_get(wq, wq, wq_umem_id),
				  .offset = ifc_get(wq, wq, wq_umem_offset),
				  .valid = ifc_get(wq, wq, wq_umem_valid) };
	struct devx_ring record = { .id = ifc_get(wq, wq, dbr_umem_id),
				    .offset = ifc_get(wq, wq, dbr_addr),
				    .valid = ifc_get(wq, wq, dbr_umem_valid) };
	int err;

	if (!mlx5_has_tags(c->devx->ctx->vb->adapter->model))
		return devx_refuse(c, IFC_STATUS_BAD_OP, DEVX_WHY_TYPE,
				   "this model has no tag matching");
	if (topology != IFC_XRQ_TAG_MATCHING ||
	    (type != IFC_WQ_LINKED_LIST && type != IFC_WQ_CYCLIC))
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_TYPE,
				   "topology %u, wq_type %u; 1 (tag matching), and 0 (linked list) "
				   "or 1 (cyclic) are offered",
				   topology, type);
	if (!log_list || log_list > MLX5_TAG_LOG_LIST)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_SIZE,
				   "log_matching_list_sz %u; expected 1 to %u", log_list,
				   MLX5_TAG_LOG_LIST);
	err = check_shape(c, log_size, shift, true);
	if (err)
		return err;
	init.ring.size = 1u << log_size;
	init.ring.max_sge = (1u << shift) / MLX5_DS - 1;
	err = find_memory(c, &ring, &record, &init);
	if (!err)
		err = devx_keep(c, ctx, ifc_len(xrqc));
	if (err)
		return err;
	init.cq = devx_hold_cq(c, cqn);
	if (!init.cq)
		return devx_refuse(c, IFC_STATUS_BAD_RES, DEVX_WHY_CQ,
				   "completion queue 0x%x does not exist", cqn);
	err = make(c, ifc_get(wq, wq, pd), &init);
	hca_cq_put(init.cq);
	return err;
}

int devx_query_xrq(struct devx_cmd *c)
{
	void *ctx = ifc_ptr(c->out, query_xrq_out, xrq_context), *wq = ifc_ptr(ctx, xrqc, wq);
	void *tm = ifc_ptr(ctx, xrqc, tag_matching_topology_context);
	struct hca_srq *srq = c->obj->srq;

	memcpy(ctx, c->obj->image, c->obj->image_len);
	ifc_set(wq, wq, lwm, hca_srq_limit(srq));
	ifc_set(wq, wq, hw_counter, srq->taken);
	ifc_set(wq, wq, sw_counter, srq->format->rq_producer(&srq->ring));
	ifc_set(tm, tag_matching_topology_context, append_next_index, srq->tags->next);
	ifc_set(tm, tag_matching_topology_context, sw_phase_cnt, srq->tags->handled);
	ifc_set(tm, tag_matching_topology_context, hw_phase_cnt, srq->tags->unexpected);
	return 0;
}

int devx_arm_xrq(struct devx_cmd *c)
{
	hca_srq_set_limit(c->obj->srq, ifc_get(c->in, arm_xrq_in, lwm));
	return 0;
}

/*
 * The path of the adapter's own DC requests, by which it would read the data of a rendezvous. Rendezvous requests that
 * come by DC are left to the program (hca/transport/tag_recv.c), so the path has no use.
 */
int devx_set_xrq_dc(struct devx_cmd *c)
{
	return 0;
}
