/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * QPs in user memory: the receive ring, and the send ring right behind it. State changes and
 * queries are in devx_qpc.c.
 */
#include "mlx5/devx_qp.h"

#include <errno.h>
#include <string.h>

#include "driver/record.h"
#include "hca/queue/sq_register.h"
#include "hca/transport/mcast.h"
#include "hca/transport/qp_watch.h"
#include "mlx5/devx_cmd.h"
#include "mlx5/devx_counter.h"
#include "mlx5/devx_mem.h"
#include "mlx5/devx_lag.h"
#include "mlx5/devx_obj.h"
#include "mlx5/devx_qpc.h"
#include "mlx5/devx_uar.h"
#include "mlx5/format.h"

#define SEND_SLOT_SHIFT 6
#define RECV_SLOT_SHIFT 4 /* of stride 0 */
#define LOG_QUEUE_MAX   15

static int find_type(struct devx_cmd *c, const void *qpc, enum hca_qp_type *out)
{
	unsigned int st = ifc_get(qpc, qpc, st);

	switch (st) {
	case IFC_QP_ST_RC:
		*out = HCA_QP_RC;
		return 0;
	case IFC_QP_ST_UC:
		*out = HCA_QP_UC;
		return 0;
	case IFC_QP_ST_UD:
		*out = HCA_QP_UD;
		return 0;
	case IFC_QP_ST_XRC:
		*out = ifc_get(qpc, qpc, no_sq) ? HCA_QP_XRC_RECV : HCA_QP_XRC_SEND;
		return 0;
	case IFC_QP_ST_DCI:
		*out = HCA_QP_DCI;
		return 0;
	default:
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_TYPE,
				   "service type 0x%x; RC, UC, UD, XRC and DCI are offered", st);
	}
}

static int shape_rings(struct devx_cmd *c, const void *qpc, struct hca_qp_init *init)
{
	unsigned int rq_type = ifc_get(qpc, qpc, rq_type);
	unsigned int log_rq = ifc_get(qpc, qpc, log_rq_size);
	unsigned int log_sq = ifc_get(qpc, qpc, log_sq_size);
	bool no_sq = ifc_get(qpc, qpc, no_sq) || init->type == HCA_QP_XRC_RECV;
	bool no_rq = rq_type != IFC_RQ_REGULAR || init->type == HCA_QP_XRC_SEND ||
		     init->type == HCA_QP_XRC_RECV || init->type == HCA_QP_DCI;

	if (rq_type != IFC_RQ_REGULAR && rq_type != IFC_RQ_SRQ && rq_type != IFC_RQ_NONE)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_FIELD,
				   "rq_type %u; expected 0 (own), 1 (shared) or 3 (none)", rq_type);
	init->sq.slot_shift = SEND_SLOT_SHIFT;
	init->sq.size = no_sq ? 0 : 1u << log_sq;
	init->rq.slot_shift = RECV_SLOT_SHIFT + ifc_get(qpc, qpc, log_rq_stride);
	init->rq.size = no_rq ? 0 : 1u << log_rq;
	if (init->rq.slot_shift > 9 || init->sq.size > 1u << LOG_QUEUE_MAX ||
	    init->rq.size > 1u << LOG_QUEUE_MAX)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_SIZE,
				   "log_sq_size %u, log_rq_size %u, log_rq_stride %u; at most %u, "
				   "%u and 5",
				   log_sq, log_rq, init->rq.slot_shift - RECV_SLOT_SHIFT,
				   LOG_QUEUE_MAX, LOG_QUEUE_MAX);
	init->rq.signature = ifc_get(qpc, qpc, wq_signature);
	init->rq.max_sge = (1u << init->rq.slot_shift) / MLX5_DS - init->rq.signature;
	return 0;
}

static int find_memory(struct devx_cmd *c, const void *qpc, struct hca_qp_init *init)
{
	uint64_t rq_bytes = (uint64_t)init->rq.size << init->rq.slot_shift;
	uint64_t sq_bytes = (uint64_t)init->sq.size << init->sq.slot_shift;
	struct devx_ring ring = {
		.id = ifc_get(c->in, create_qp_in, wq_umem_id),
		.offset = ifc_get(c->in, create_qp_in, wq_umem_offset),
		.valid = ifc_get(c->in, create_qp_in, wq_umem_valid),
		.bytes = rq_bytes + sq_bytes,
		.align = 64,
		.what = "ring",
	};
	struct devx_ring record = {
		.id = ifc_get(qpc, qpc, dbr_umem_id),
		.offset = ifc_get(qpc, qpc, dbr_addr),
		.valid = ifc_get(qpc, qpc, dbr_umem_valid),
		.bytes = 8,
		.align = 8,
		.what = "doorbell record",
	};
	volatile uint32_t *db;
	void *buf, *at;
	int err;

	if (!ring.bytes)
		return 0;
	err = devx_umem_at(c, 0, &ring, &buf);
	if (!err)
		err = devx_umem_at(c, 1, &record, &at);
	if (err)
		return err;
	db = at;
	init->rq.buf = buf;
	init->rq.db = &db[MLX5_RCV_DBR];
	init->sq.buf = (uint8_t *)buf + rq_bytes;
	init->sq.db = &db[MLX5_SND_DBR];
	if ((uintptr_t)init->sq.buf & (MLX5_BLOCK_SIZE - 1) && init->sq.size)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_ALIGNMENT,
				   "a receive ring of %llu bytes leaves the send ring unaligned",
				   (unsigned long long)rq_bytes);
	return 0;
}

/* The references that look-ups took end when the QP has its own. */
struct holds {
	struct hca_pd *pd;
	struct hca_cq *send_cq, *recv_cq;
	struct hca_srq *srq;
};

static void release(const struct holds *h)
{
	if (h->pd)
		hca_pd_put(h->pd);
	if (h->send_cq)
		hca_cq_put(h->send_cq);
	if (h->recv_cq)
		hca_cq_put(h->recv_cq);
	if (h->srq)
		hca_srq_put(h->srq);
}

static int hold_cq(struct devx_cmd *c, uint32_t cqn, const char *what, struct hca_cq **out)
{
	*out = devx_hold_cq(c, cqn);
	if (*out)
		return 0;
	return devx_refuse(c, IFC_STATUS_BAD_RES, DEVX_WHY_CQ,
			   "completion queue 0x%x (%s) does not exist", cqn, what);
}

static int find_xrcd(struct devx_cmd *c, const void *qpc, struct hca_qp_init *init)
{
	uint32_t number = ifc_get(qpc, qpc, xrcd);
	struct mlx5dv_devx_obj *obj = devx_find(c->devx, DEVX_XRCD, number);

	if (!obj)
		return devx_refuse(c, IFC_STATUS_BAD_RES, DEVX_WHY_OBJECT,
				   "XRC domain 0x%x does not exist", number);
	init->xrcd = hca_xrcd_number(obj->xrcd);
	devx_use(c->obj, obj);
	return 0;
}

static int hold(struct devx_cmd *c, const void *qpc, struct hca_qp_init *init, struct holds *h)
{
	uint32_t pdn = ifc_get(qpc, qpc, pd), srqn = ifc_get(qpc, qpc, srqn_rmpn_xrqn);
	bool receives; /* the command names a CQ for that only with a receive queue */
	int err = 0;

	if (init->type == HCA_QP_XRC_RECV)
		return find_xrcd(c, qpc, init);
	h->pd = devx_hold_pd(c, pdn);
	if (!h->pd)
		return devx_refuse(c, IFC_STATUS_BAD_RES, DEVX_WHY_PD,
				   "protection domain 0x%x does not exist", pdn);
	err = hold_cq(c, ifc_get(qpc, qpc, cqn_snd), "cqn_snd", &h->send_cq);
	receives = init->type != HCA_QP_XRC_SEND && init->type != HCA_QP_DCI;
	if (!err && receives && ifc_get(qpc, qpc, rq_type) == IFC_RQ_NONE)
		err = hold_cq(c, ifc_get(qpc, qpc, cqn_snd), "cqn_snd", &h->recv_cq);
	else if (!err && receives)
		err = hold_cq(c, ifc_get(qpc, qpc, cqn_rcv), "cqn_rcv", &h->recv_cq);
	if (err)
		return err;
	if (ifc_get(qpc, qpc, rq_type) == IFC_RQ_SRQ && receives) {
		h->srq = devx_hold_srq(c, srqn);
		if (!h->srq)
			return devx_refuse(c, IFC_STATUS_BAD_RES, DEVX_WHY_SRQ,
					   "shared receive queue 0x%x does not exist", srqn);
	}
	init->pd = h->pd;
	init->send_cq = h->send_cq;
	init->recv_cq = h->recv_cq;
	init->srq = h->srq;
	return 0;
}

/* The doorbells of the send queue: a page, and a record or else a register of the page. */
static int find_doorbell(struct devx_cmd *c, const void *qpc, struct hca_qp_init *init)
{
	unsigned int mode = ifc_get(qpc, qpc, send_dbr_mode);
	bool may = hca_model_has(c->adapter->model, HCA_HAS_NO_RECORD);
	struct hca_uar *uar;
	int err = devx_uar_use(c, ifc_get(qpc, qpc, uar_page), &uar);

	if (err || mode == IFC_DBR_VALID)
		return err;
	if (mode != IFC_DBR_NONE_EXT || !may)
		return devx_refuse(c, IFC_STATUS_BAD_PARAM, DEVX_WHY_FIELD,
				   "send_dbr_mode %u; expected 0 (a record)%s", mode,
				   may ? " or 1 (none)" : ": this model needs one");
	err = hca_sq_register_create(uar, &c->obj->sq_register);
	if (err)
		return devx_refuse_errno(c, err, DEVX_WHY_UAR);
	init->sq.db = &c->obj->sq_register->record;
	return 0;
}

static int make(struct devx_cmd *c, const struct hca_qp_init *init)
{
	int err = hca_qp_create(init, &c->obj->qp);

	if (!err && c->obj->sq_register)
		hca_sq_register_own(c->obj->sq_register, c->obj->qp->qpn);
	else if (!err && init->sq.db)
		drv_record_store(init->sq.db, 0); /* see devx_modify_qp() */
	if (!err && init->sq.size)
		err = hca_doorbell_watch_qp(c->obj->qp);
	return devx_refuse_errno(c, err, DEVX_WHY_MEMORY);
}

int devx_create_qp(struct devx_cmd *c)
{
	const void *qpc = ifc_cptr(c->in, create_qp_in, qpc);
	struct hca_qp_init init = {
		.ctx = &c->devx->ctx->vb->hca,
		.format = &mlx5_format,
		.user_index = ifc_get(qpc, qpc, user_index),
		.lag = devx_lag_of(c, ifc_get(qpc, qpc, lag_tx_port_affinity), 0),
		.block_self_mcast = ifc_get(qpc, qpc, block_lb_mc),
		.user = devx_user(c->obj),
	};
	struct holds h = { 0 };
	struct hca_counters *counters;
	int err = find_type(c, qpc, &init.type);

	if (init.type == HCA_QP_DCI && ifc_get(qpc, qpc, log_num_dci_stream_channels)) {
		init.dci_streams = true;
		init.dci_log_errored = ifc_get(qpc, qpc, log_num_dci_errored_streams);
	}

	if (!err)
		err = shape_rings(c, qpc, &init);
	if (!err)
		err = find_memory(c, qpc, &init);
	if (!err && init.sq.size)
		err = find_doorbell(c, qpc, &init);
	if (!err)
		err = devx_keep(c, qpc, ifc_len(qpc));
	if (!err)
		err = devx_counters_find(c, ifc_get(qpc, qpc, counter_set_id), &counters);
	if (!err)
		err = hold(c, qpc, &init, &h);
	if (!err)
		err = make(c, &init);
	release(&h);
	if (err)
		return err;
	hca_qp_set_counters(c->obj->qp, counters);
	c->obj->number = c->obj->qp->qpn;
	ifc_set(c->out, create_qp_out, qpn, c->obj->number);
	return 0;
}

/*
 * An adapter reads the send record when the doorbell rings, and a program need not clear it. Here the watch
 * reads it at any time, so entries of before the reset must not seem to be posted.
 */
int devx_modify_qp(struct devx_cmd *c)
{
	struct hca_qp *qp = c->obj->qp;
	int err = devx_qpc_modify(c, qp);

	if (err || c->row->op != IFC_OP_2RST_QP)
		return err;
	if (c->obj->sq_register)
		hca_sq_register_reset(c->obj->sq_register);
	else if (qp->sq.db)
		drv_record_store(qp->sq.db, 0);
	return 0;
}

int devx_query_qp(struct devx_cmd *c)
{
	void *qpc = ifc_ptr(c->out, query_qp_out, qpc);

	if (c->obj->image)
		memcpy(qpc, c->obj->image, c->obj->image_len);
	devx_qpc_fill(c->adapter, c->obj->qp, qpc);
	return 0;
}

/* ---- multicast ---- */

/* The object is the attachment; it uses the QP. */
int devx_attach_mcg(struct devx_cmd *c)
{
	uint32_t qpn = ifc_get(c->in, attach_to_mcg_in, qpn);
	struct mlx5dv_devx_obj *qp = NULL;
	struct hca_gid gid;
	int err;

	LIST_FOREACH(qp, &c->devx->objs, link)
		if (qp->kind == DEVX_QP && qp->number == qpn)
			break;
	if (!qp)
		return devx_refuse(c, IFC_STATUS_BAD_RES, DEVX_WHY_QP,
				   "queue pair 0x%x does not exist", qpn);
	memcpy(gid.raw, ifc_cptr(c->in, attach_to_mcg_in, multicast_gid), sizeof(gid.raw));
	err = devx_keep(c, &gid, sizeof(gid));
	if (err)
		return err;
	err = hca_qp_attach_mcast(qp->qp, &gid, 0);
	if (err)
		return devx_refuse_errno(c, err, DEVX_WHY_FIELD);
	c->obj->hca = qp->qp;
	c->obj->number = qpn;
	devx_use(c->obj, qp);
	return 0;
}

int devx_mcg_detach(struct mlx5dv_devx_obj *obj)
{
	return hca_qp_detach_mcast(obj->qp, (const struct hca_gid *)obj->image, 0);
}
