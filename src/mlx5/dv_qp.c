/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mlx5dv_create_qp(), which also makes dynamically connected QPs, and the other direct verbs of QPs.
 */
#include <errno.h>

#include "hca/transport/dci_stream.h"
#include "hca/transport/sq.h"
#include "mlx5/dv.h"
#include "mlx5/objects.h"
#include "mlx5/qp.h"
#include "util/explain.h"
#include "verbs/object_check.h"
#include "verbs/qp.h"

#define KNOWN                                                                                      \
	(MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS | MLX5DV_QP_INIT_ATTR_MASK_DC |                  \
	 MLX5DV_QP_INIT_ATTR_MASK_SEND_OPS_FLAGS | MLX5DV_QP_INIT_ATTR_MASK_DCI_STREAMS)

/* Flags of the ABI; those that are not offered are EOPNOTSUPP. */
#define FLAGS_KNOWN (2u * MLX5DV_QP_CREATE_OOO_DP - 1)

/* Data is never scattered to CQEs: forbidding or permitting it changes nothing. */
#define SCATTER (MLX5DV_QP_CREATE_DISABLE_SCATTER_TO_CQE | MLX5DV_QP_CREATE_ALLOW_SCATTER_TO_CQE)

static int check_streams(const struct hca_adapter *adapter, const struct mlx5dv_qp_init_attr *extra)
{
	const struct mlx5dv_dci_streams *s = &extra->dc_init_attr.dci_streams;

	if (!hca_model_has(adapter->model, HCA_HAS_DC_STREAMS))
		return explain(EOPNOTSUPP, "mlx5dv_create_qp: a %s has no streams",
			       adapter->model->name);

	if (!(extra->comp_mask & MLX5DV_QP_INIT_ATTR_MASK_DC) || mlx5_is_dct(extra))
		return explain(EINVAL, "mlx5dv_create_qp: streams are for DC initiators only");
	if (s->log_num_concurent > MLX5_LOG_STREAMS || s->log_num_errored > MLX5_LOG_STREAMS)
		return explain(EINVAL,
			       "mlx5dv_create_qp: 2^%u streams, of which 2^%u may fail; at most "
			       "2^%u",
			       s->log_num_concurent, s->log_num_errored, MLX5_LOG_STREAMS);
	return 0;
}

static int check_dc(const struct ibv_qp_init_attr_ex *attr, const struct mlx5dv_qp_init_attr *extra)
{
	enum mlx5dv_dc_type type = extra->dc_init_attr.dc_type;

	if (attr->qp_type != IBV_QPT_DRIVER)
		return explain(EINVAL,
			       "mlx5dv_create_qp: DC attributes for a QP of type %d; "
			       "IBV_QPT_DRIVER is needed",
			       attr->qp_type);
	if (type != MLX5DV_DCTYPE_DCT && type != MLX5DV_DCTYPE_DCI)
		return explain(EINVAL, "mlx5dv_create_qp: dc_type %d is neither DCT nor DCI", type);
	if (!mlx5_is_dct(extra)) {
		if (!attr->send_cq)
			return explain(EINVAL, "mlx5dv_create_qp: a DCI needs a send CQ");
		return 0;
	}
	if (!attr->srq || !attr->recv_cq)
		return explain(EINVAL, "mlx5dv_create_qp: a DCT needs a shared receive queue and a "
				       "receive CQ");
	if (to_srq(attr->srq)->hca->type == HCA_SRQ_XRC)
		return explain(EINVAL, "mlx5dv_create_qp: the shared receive queue of a DCT is a "
				       "basic one");
	if (attr->comp_mask & ~IBV_QP_INIT_ATTR_PD)
		return explain(EINVAL,
			       "mlx5dv_create_qp: comp_mask 0x%x; a DCT has a protection "
			       "domain and nothing else",
			       attr->comp_mask);
	return 0;
}

/* Flags of raw packet QPs. */
#define RAW                                                                                        \
	(MLX5DV_QP_CREATE_TIR_ALLOW_SELF_LOOPBACK_UC |                                             \
	 MLX5DV_QP_CREATE_TIR_ALLOW_SELF_LOOPBACK_MC | MLX5DV_QP_CREATE_TUNNEL_OFFLOADS)

#define OFFERED (SCATTER | RAW | MLX5DV_QP_CREATE_OOO_DP | MLX5DV_QP_CREATE_SIG_PIPELINING)

static int check_order(const struct hca_adapter *adapter, const struct ibv_qp_init_attr_ex *attr)
{
	uint32_t most = mlx5_out_of_order_most(adapter, attr->qp_type);

	if (!most)
		return explain(EOPNOTSUPP,
			       "mlx5dv_create_qp: a %s does not take packets of type %d out of "
			       "order",
			       adapter->model->name, attr->qp_type);
	if (attr->cap.max_recv_wr > most)
		return explain(
			EINVAL,
			"mlx5dv_create_qp: max_recv_wr %u; %u where packets are taken out of "
			"order",
			attr->cap.max_recv_wr, most);
	return 0;
}

static int check(const struct hca_adapter *adapter, const struct ibv_qp_init_attr_ex *attr,
		 const struct mlx5dv_qp_init_attr *extra)
{
	uint32_t flags = extra->comp_mask & MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS
				 ? extra->create_flags
				 : 0;
	int err = 0;

	if (extra->comp_mask & ~(uint64_t)KNOWN)
		return explain(EINVAL, "mlx5dv_create_qp: comp_mask 0x%llx; 0x%x is known",
			       (unsigned long long)extra->comp_mask, KNOWN);
	if (flags & ~FLAGS_KNOWN)
		return explain(EINVAL, "mlx5dv_create_qp: create_flags 0x%x; 0x%x is known", flags,
			       FLAGS_KNOWN);
	if (flags & ~OFFERED)
		return explain(EOPNOTSUPP, "mlx5dv_create_qp: create_flags 0x%x; 0x%x is offered",
			       flags, OFFERED);
	if (flags & RAW && attr->qp_type != IBV_QPT_RAW_PACKET)
		return explain(EINVAL,
			       "mlx5dv_create_qp: create_flags 0x%x are for raw packets, which "
			       "type %d does not have",
			       flags & RAW, attr->qp_type);
	if ((flags & SCATTER) == SCATTER)
		return explain(EINVAL,
			       "mlx5dv_create_qp: scatter to CQE both disabled and allowed");
	if (flags & MLX5DV_QP_CREATE_OOO_DP)
		err = check_order(adapter, attr);
	if (!err && extra->comp_mask & MLX5DV_QP_INIT_ATTR_MASK_DC)
		err = check_dc(attr, extra);
	if (!err && extra->comp_mask & MLX5DV_QP_INIT_ATTR_MASK_DCI_STREAMS)
		err = check_streams(adapter, extra);
	return err;
}

struct ibv_qp *mlx5dv_create_qp(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr,
				struct mlx5dv_qp_init_attr *extra)
{
	const struct mlx5_context *ctx = mlx5_dv_context(context, __func__);
	int err;

	if (!ctx)
		return NULL;
	err = extra ? check(ctx->vb->adapter, attr, extra) : 0;
	if (err) {
		errno = -err;
		return NULL;
	}
	return verbena_create_qp_ex(context, attr, extra);
}

/* WQEs that have not been started become NOPs, and complete as such. */
static int cancel(struct mlx5_qp *qp, uint64_t wr_id)
{
	struct mlx5_sq *sq = &qp->sq;
	uint32_t index = hca_sq_next(qp->base.vb.hca);
	int count = 0;

	while ((int32_t)((sq->post - index) << 16) > 0) {
		struct mlx5_wqe_ctrl_seg *ctrl =
			(void *)(sq->buf + ((size_t)(index & sq->mask) << MLX5_SEND_WQE_SHIFT));
		uint32_t op_word = be32toh(ctrl->opmod_idx_opcode);
		uint32_t blocks = mlx5_blocks(be32toh(ctrl->qpn_ds) & MLX5_DS_MASK);

		if (sq->slots[index & sq->mask].wr_id == wr_id &&
		    (op_word & 0xff) != MLX5_OPCODE_NOP) {
			ctrl->opmod_idx_opcode = htobe32((op_word & 0xffff00) | MLX5_OPCODE_NOP);
			count++;
		}
		index += blocks ? blocks : 1;
	}
	return count;
}

int mlx5dv_qp_cancel_posted_send_wrs(struct mlx5dv_qp_ex *dv, uint64_t wr_id)
{
	struct mlx5_qp *qp = to_mqp_dv(dv);
	int count;

	fabric_lock(&qp->base.vb.hca->lock);
	if (qp->base.vb.hca->state == HCA_QPS_SQD)
		count = cancel(qp, wr_id);
	else
		count = explain(EINVAL,
				"mlx5dv_qp_cancel_posted_send_wrs: QP 0x%06x is in state %d; "
				"requests can be cancelled in SQD (%d)",
				qp->base.qpn, qp->base.vb.hca->state, HCA_QPS_SQD);
	fabric_unlock(&qp->base.vb.hca->lock);
	return count;
}

struct mlx5dv_qp_ex *mlx5dv_qp_ex_from_ibv_qp_ex(struct ibv_qp_ex *qp)
{
	return &to_mqp_ex(qp)->dv;
}

int mlx5dv_dci_stream_id_reset(struct ibv_qp *qp, uint16_t stream_id)
{
	int err;

	if (!mlx5_dv_context(qp->context, __func__))
		return errno;
	err = vb_check_qp(qp, ENOENT, __func__);
	if (err)
		return errno = -err;
	return errno = -hca_dci_reset_stream(to_mqp(qp)->base.vb.hca, stream_id);
}
