/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Commands on objects that verbs made, which the kernel finds by their handles. Each call makes a
 * stand-in object, so that the functions for DEVX objects can be used.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hca/raw/rss.h"
#include "hca/raw/wq.h"
#include "mlx5/devx_exec.h"
#include "mlx5/devx_cmd.h"
#include "mlx5/dv.h"
#include "mlx5/qp.h"
#include "mlx5/wq.h"
#include "verbs/object_check.h"

#define IMAGE 256u /* longer than any context without a list */

/* `image`, from the heap, is the context to start from; it is freed. */
static int exec_image(struct ibv_context *context, enum devx_verb verb,
		      struct mlx5dv_devx_obj *stand_in, const void *in, size_t inlen, void *out,
		      size_t outlen, const char *call)
{
	struct mlx5_context *ctx = mlx5_dv_context(context, call);
	int err;

	if (!ctx) {
		err = -errno;
	} else if (!stand_in->image) {
		err = -ENOMEM;
	} else {
		stand_in->devx = ctx->devx;
		stand_in->stand_in = true;
		err = devx_exec(ctx->devx, verb, stand_in, in, inlen, out, outlen);
	}
	free(stand_in->image);
	return err;
}

static int exec(struct ibv_context *context, enum devx_verb verb, enum devx_kind kind,
		uint32_t number, void *hca, const void *in, size_t inlen, void *out, size_t outlen,
		const char *call)
{
	struct mlx5dv_devx_obj stand_in = {
		.kind = kind, .number = number, .hca = hca, .image = calloc(1, IMAGE)
	};

	return exec_image(context, verb, &stand_in, in, inlen, out, outlen, call);
}

int mlx5dv_devx_cq_query(struct ibv_cq *cq, const void *in, size_t inlen, void *out, size_t outlen)
{
	struct hca_cq *hca = to_cq(cq)->hca;
	int err = vb_check_cq(cq, ENOENT, __func__);

	if (err)
		return -err;
	return -exec(cq->context, DEVX_QUERY, DEVX_CQ, hca->cqn, hca, in, inlen, out, outlen,
		     __func__);
}

int mlx5dv_devx_cq_modify(struct ibv_cq *cq, const void *in, size_t inlen, void *out, size_t outlen)
{
	struct hca_cq *hca = to_cq(cq)->hca;
	int err = vb_check_cq(cq, ENOENT, __func__);

	if (err)
		return -err;
	return -exec(cq->context, DEVX_MODIFY, DEVX_CQ, hca->cqn, hca, in, inlen, out, outlen,
		     __func__);
}

/* A raw packet QP is also its TIS: programs ask for the TIS's transport domain. */
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
	int err = vb_check_qp(qp, ENOENT, __func__);

	if (err)
		return -err;
	if (hca->type == HCA_QP_RAW && inlen >= ifc_len(query_tis_in) &&
	    ifc_get(in, cmd_in, opcode) == IFC_OP_QUERY_TIS)
		return query_tis(qp, in, inlen, out, outlen);
	return -exec(qp->context, DEVX_QUERY, DEVX_QP, hca->qpn, hca, in, inlen, out, outlen,
		     __func__);
}

/* The public struct has the state, too; a reset also resets the driver's rings. */
int mlx5dv_devx_qp_modify(struct ibv_qp *qp, const void *in, size_t inlen, void *out, size_t outlen)
{
	struct hca_qp *hca = to_qp(qp)->hca;
	int err = vb_check_qp(qp, ENOENT, __func__);

	if (!err)
		err = exec(qp->context, DEVX_MODIFY, DEVX_QP, hca->qpn, hca, in, inlen, out, outlen,
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
	return srq->type == HCA_SRQ_XRC   ? DEVX_XRC_SRQ
	       : srq->type == HCA_SRQ_TAG ? DEVX_XRQ
					  : DEVX_RMP;
}

int mlx5dv_devx_srq_query(struct ibv_srq *srq, const void *in, size_t inlen, void *out,
			  size_t outlen)
{
	struct hca_srq *hca = to_srq(srq)->hca;
	int err = vb_check_srq(srq, ENOENT, __func__);

	if (err)
		return -err;
	return -exec(srq->context, DEVX_QUERY, srq_kind(hca), hca->srqn, hca, in, inlen, out,
		     outlen, __func__);
}

int mlx5dv_devx_srq_modify(struct ibv_srq *srq, const void *in, size_t inlen, void *out,
			   size_t outlen)
{
	struct hca_srq *hca = to_srq(srq)->hca;
	int err = vb_check_srq(srq, ENOENT, __func__);

	if (err)
		return -err;
	return -exec(srq->context, DEVX_MODIFY, srq_kind(hca), hca->srqn, hca, in, inlen, out,
		     outlen, __func__);
}

/* ---- work queues and their tables ---- */

static uint8_t *wq_image(struct hca_wq *wq)
{
	uint8_t *image = calloc(1, IMAGE), *ring;

	if (!image)
		return NULL;
	ring = ifc_ptr(image, rqc, wq);
	ifc_set(image, rqc, state,
		wq->state == HCA_WQS_RDY   ? IFC_WQ_RDY
		: wq->state == HCA_WQS_ERR ? IFC_WQ_ERR
					   : IFC_WQ_RST);
	ifc_set(image, rqc, vsd, !(wq->flags & HCA_WQF_CVLAN_STRIPPING));
	ifc_set(image, rqc, cqn, wq->cq->cqn);
	ifc_set(image, rqc, user_index, wq->user_index);
	ifc_set(ring, wq, wq_type, IFC_WQ_CYCLIC);
	ifc_set(ring, wq, pd, wq->pd->pdn);
	ifc_set(ring, wq, log_wq_stride, wq->ring.slot_shift);
	ifc_set(ring, wq, log_wq_sz, __builtin_ctz(wq->ring.size));
	return image;
}

static int exec_wq(struct ibv_wq *wq, enum devx_verb verb, const void *in, size_t inlen, void *out,
		   size_t outlen, const char *call)
{
	struct hca_wq *hca = to_wq(wq)->hca;
	struct mlx5dv_devx_obj stand_in = {
		.kind = DEVX_RQ,
		.number = hca->wqn,
		.wq = hca,
		.image_len = ifc_len(rqc),
	};
	int err = vb_check_wq(wq, ENOENT, call);

	if (err)
		return err;
	stand_in.image = wq_image(hca);
	return exec_image(wq->context, verb, &stand_in, in, inlen, out, outlen, call);
}

int mlx5dv_devx_wq_query(struct ibv_wq *wq, const void *in, size_t inlen, void *out, size_t outlen)
{
	return -exec_wq(wq, DEVX_QUERY, in, inlen, out, outlen, __func__);
}

int mlx5dv_devx_wq_modify(struct ibv_wq *wq, const void *in, size_t inlen, void *out, size_t outlen)
{
	int err = exec_wq(wq, DEVX_MODIFY, in, inlen, out, outlen, __func__);

	if (err)
		return -err;
	wq->state = (enum ibv_wq_state)to_wq(wq)->hca->state;
	if (wq->state == IBV_WQS_RESET)
		mlx5_reset_wq(to_wq(wq));
	return 0;
}

static int exec_table(struct ibv_rwq_ind_table *table, enum devx_verb verb, const void *in,
		      size_t inlen, void *out, size_t outlen, const char *call)
{
	struct hca_ind_table *hca = to_ind_table(table)->hca;
	uint32_t count = 1u << hca->log_size;
	struct mlx5dv_devx_obj stand_in = {
		.kind = DEVX_RQT,
		.number = hca->number,
		.ind_table = hca,
		.image_len = ifc_len(rqtc) + count * 4ull,
	};
	int err = vb_check_ind_table(table, ENOENT, call);

	if (err)
		return err;
	stand_in.image = calloc(1, stand_in.image_len);
	if (stand_in.image) {
		ifc_set(stand_in.image, rqtc, rqt_max_size, count);
		ifc_set(stand_in.image, rqtc, rqt_actual_size, count);
		for (uint32_t i = 0; i < count; i++)
			ifc_set_at(stand_in.image, rqtc, rq_num, i, hca->wq[i]->wqn);
	}
	return exec_image(table->context, verb, &stand_in, in, inlen, out, outlen, call);
}

int mlx5dv_devx_ind_tbl_query(struct ibv_rwq_ind_table *table, const void *in, size_t inlen,
			      void *out, size_t outlen)
{
	return -exec_table(table, DEVX_QUERY, in, inlen, out, outlen, __func__);
}

int mlx5dv_devx_ind_tbl_modify(struct ibv_rwq_ind_table *table, const void *in, size_t inlen,
			       void *out, size_t outlen)
{
	return -exec_table(table, DEVX_MODIFY, in, inlen, out, outlen, __func__);
}
