/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Commands on objects that verbs made. Each gets a stand-in for the length of the call, so that the
 * functions that serve DEVX objects serve it as well.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mlx5/devx.h"
#include "mlx5/dv.h"

static int exec(struct ibv_context *context, enum devx_verb verb, enum devx_kind kind,
		uint32_t number, void *hca, const void *in, size_t inlen, void *out, size_t outlen,
		const char *call)
{
	struct mlx5_context *ctx = devx_context(context, call);
	struct mlx5dv_devx_obj stand_in = { .kind = kind, .number = number, .hca = hca };
	uint8_t nothing[256] = { 0 };

	if (!ctx)
		return -errno;
	stand_in.devx = ctx->devx;
	stand_in.image = nothing;
	return devx_exec(ctx->devx, verb, &stand_in, in, inlen, out, outlen);
}

int mlx5dv_devx_cq_query(struct ibv_cq *cq, const void *in, size_t inlen, void *out, size_t outlen)
{
	struct hca_cq *hca = to_cq(cq)->hca;

	return -exec(cq->context, DEVX_QUERY, DEVX_CQ, hca->cqn, hca, in, inlen, out, outlen,
		     __func__);
}

int mlx5dv_devx_cq_modify(struct ibv_cq *cq, const void *in, size_t inlen, void *out, size_t outlen)
{
	struct hca_cq *hca = to_cq(cq)->hca;

	return -exec(cq->context, DEVX_MODIFY, DEVX_CQ, hca->cqn, hca, in, inlen, out, outlen,
		     __func__);
}

/* A raw packet QP stands for its TIS as well; what programs ask is whose transport domain it has. */
static int query_tis(struct ibv_qp *qp, const void *in, size_t inlen, void *out, size_t outlen)
{
	struct hca_qp *hca = to_qp(qp)->hca;
	int err = exec(qp->context, DEVX_QUERY, DEVX_TIS, hca->qpn, hca, in, inlen, out, outlen,
		       "mlx5dv_devx_qp_query");

	if (!err && outlen >= ifc_len(query_tis_out))
		ifc_set(ifc_ptr(out, query_tis_out, tis_context), tisc, transport_domain,
			hca->ctx->domain);
	return -err;
}

int mlx5dv_devx_qp_query(struct ibv_qp *qp, const void *in, size_t inlen, void *out, size_t outlen)
{
	struct hca_qp *hca = to_qp(qp)->hca;

	if (hca->type == HCA_QP_RAW && inlen >= ifc_len(query_tis_in) &&
	    ifc_get(in, cmd_in, opcode) == IFC_OP_QUERY_TIS)
		return query_tis(qp, in, inlen, out, outlen);
	return -exec(qp->context, DEVX_QUERY, DEVX_QP, hca->qpn, hca, in, inlen, out, outlen,
		     __func__);
}

/* The program sees the state in the public struct; a reset starts the driver's side anew. */
int mlx5dv_devx_qp_modify(struct ibv_qp *qp, const void *in, size_t inlen, void *out, size_t outlen)
{
	struct hca_qp *hca = to_qp(qp)->hca;
	int err = exec(qp->context, DEVX_MODIFY, DEVX_QP, hca->qpn, hca, in, inlen, out, outlen,
		       __func__);

	if (err)
		return -err;
	qp->state = (enum ibv_qp_state)hca->state;
	if (hca->state == HCA_QPS_RESET)
		mlx5_reset_qp(to_qp(qp));
	return 0;
}

static enum devx_kind srq_kind(const struct hca_srq *srq)
{
	return srq->type == HCA_SRQ_XRC ? DEVX_XRC_SRQ : DEVX_RMP;
}

int mlx5dv_devx_srq_query(struct ibv_srq *srq, const void *in, size_t inlen, void *out,
			  size_t outlen)
{
	struct hca_srq *hca = to_srq(srq)->hca;

	return -exec(srq->context, DEVX_QUERY, srq_kind(hca), hca->srqn, hca, in, inlen, out,
		     outlen, __func__);
}

int mlx5dv_devx_srq_modify(struct ibv_srq *srq, const void *in, size_t inlen, void *out,
			   size_t outlen)
{
	struct hca_srq *hca = to_srq(srq)->hca;

	return -exec(srq->context, DEVX_MODIFY, srq_kind(hca), hca->srqn, hca, in, inlen, out,
		     outlen, __func__);
}
