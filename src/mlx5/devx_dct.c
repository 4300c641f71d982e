/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A DCT's only state is "active": CREATE_DCT brings the adapter's QP to RTR.
 */
#include "mlx5/devx_dct.h"

#include <errno.h>
#include <string.h>

#include "hca/device/access.h"
#include "hca/transport/qp_modify.h"
#include "mlx5/devx_cmd.h"
#include "mlx5/devx_obj.h"
#include "mlx5/format.h"

static uint32_t access_of(const void *ctx)
{
	uint32_t access = 0;

	if (ifc_get(ctx, dctc, rre))
		access |= HCA_ACCESS_REMOTE_READ;
	if (ifc_get(ctx, dctc, rwe))
		access |= HCA_ACCESS_REMOTE_WRITE;
	if (ifc_get(ctx, dctc, rae))
		access |= HCA_ACCESS_REMOTE_ATOMIC;
	return access;
}

static int bring_up(struct devx_cmd *c, const void *ctx)
{
	struct hca_qp_attr attr = {
		.state = HCA_QPS_INIT,
		.port = ifc_get(ctx, dctc, port) ?: 1,
		.pkey_index = ifc_get(ctx, dctc, pkey_index),
		.access = access_of(ctx),
		.path_mtu = ifc_get(ctx, dctc, mtu),
		.min_rnr_timer = ifc_get(ctx, dctc, min_rnr_nak),
		.av = {
			.has_grh = c->devx->ctx->ethernet,
			.sgid_index = ifc_get(ctx, dctc, my_addr_index),
			.hop_limit = ifc_get(ctx, dctc, hop_limit),
			.traffic_class = ifc_get(ctx, dctc, tclass),
			.flow_label = ifc_get(ctx, dctc, flow_label),
			.port = ifc_get(ctx, dctc, port) ?: 1,
		},
	};
	int err = hca_qp_modify(c->obj->qp, &attr,
				HCA_QPM_STATE | HCA_QPM_PKEY_INDEX | HCA_QPM_PORT | HCA_QPM_ACCESS);

	attr.state = HCA_QPS_RTR;
	if (!err)
		err = hca_qp_modify(c->obj->qp, &attr,
				    HCA_QPM_STATE | HCA_QPM_AV | HCA_QPM_PATH_MTU |
					    HCA_QPM_MIN_RNR_TIMER);
	return devx_refuse_errno(c, err, DEVX_WHY_FIELD);
}

static int make(struct devx_cmd *c, const void *ctx)
{
	uint32_t pdn = ifc_get(ctx, dctc, pd), cqn = ifc_get(ctx, dctc, cqn);
	uint32_t srqn = ifc_get(ctx, dctc, srqn_xrqn);
	struct hca_qp_init init = {
		.type = HCA_QP_DCT,
		.ctx = &c->devx->ctx->vb->hca,
		.pd = devx_hold_pd(c, pdn),
		.recv_cq = devx_hold_cq(c, cqn),
		.srq = devx_hold_srq(c, srqn),
		.dc_key = ifc_get(ctx, dctc, dc_access_key),
		.out_of_order = ifc_get(ctx, dctc, dp_ordering_1),
		.format = &mlx5_format,
		.user_index = ifc_get(ctx, dctc, user_index),
		.user = devx_user(c->obj),
	};
	int err;

	init.send_cq = init.recv_cq;
	if (!init.pd)
		err = devx_refuse(c, IFC_STATUS_BAD_RES, DEVX_WHY_PD,
				  "protection domain 0x%x does not exist", pdn);
	else if (!init.recv_cq)
		err = devx_refuse(c, IFC_STATUS_BAD_RES, DEVX_WHY_CQ,
				  "completion queue 0x%x does not exist", cqn);
	else if (!init.srq)
		err = devx_refuse(c, IFC_STATUS_BAD_RES, DEVX_WHY_SRQ,
				  "shared receive queue 0x%x does not exist", srqn);
	else
		err = devx_refuse_errno(c, hca_qp_create(&init, &c->obj->qp), DEVX_WHY_MEMORY);
	if (init.pd)
		hca_pd_put(init.pd);
	if (init.recv_cq)
		hca_cq_put(init.recv_cq);
	if (init.srq)
		hca_srq_put(init.srq);
	return err;
}

int devx_create_dct(struct devx_cmd *c)
{
	const void *ctx = ifc_cptr(c->in, create_dct_in, dct_context_entry);
	int err = devx_keep(c, ctx, ifc_len(dctc));

	if (!err)
		err = make(c, ctx);
	if (!err)
		err = bring_up(c, ctx);
	if (err)
		return err;
	c->obj->number = c->obj->qp->qpn;
	ifc_set(c->out, create_dct_out, dctn, c->obj->number);
	return 0;
}

int devx_query_dct(struct devx_cmd *c)
{
	uint8_t *ctx = ifc_ptr(c->out, query_dct_out, dct_context_entry);
	enum hca_qp_state state = __atomic_load_n(&c->obj->qp->state, __ATOMIC_RELAXED);

	memcpy(ctx, c->obj->image, c->obj->image_len);
	ifc_set(ctx, dctc, state, state == HCA_QPS_RTR ? IFC_DCT_ACTIVE : IFC_DCT_DRAINED);
	return 0;
}

/* DRAIN_DCT: requests are no longer accepted; completion is told by the event of that name. */
int devx_drain_dct(struct devx_cmd *c)
{
	struct hca_qp_attr attr = { .state = HCA_QPS_ERR };

	return devx_refuse_errno(c, hca_qp_modify(c->obj->qp, &attr, HCA_QPM_STATE),
				 DEVX_WHY_STATE);
}
