/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operations between ibv_wr_start() and ibv_wr_complete(): whole WQEs made by the program, memory
 * copies, addresses of DC targets; indirect keys are in wr_mkey.c. decode.c reads these WQEs.
 */
#include "mlx5/wr_dv.h"

#include "mlx5/chain.h"
#include "mlx5/dv.h"
#include "mlx5/wr_mkey.h"

#define OPS_KEY                                                                                    \
	((uint64_t)(MLX5DV_QP_EX_WITH_MR_INTERLEAVED | MLX5DV_QP_EX_WITH_MR_LIST |                 \
		    MLX5DV_QP_EX_WITH_MKEY_CONFIGURE))

static void wr_raw_wqe(struct mlx5dv_qp_ex *dv, const void *wqe)
{
	struct mlx5_qp *qp = to_mqp_dv(dv);
	struct mlx5_wqe_ctrl_seg head;
	uint32_t ds, what;

	memcpy(&head, wqe, sizeof(head));
	ds = be32toh(head.qpn_ds) & MLX5_DS_MASK;
	if (!ds || mlx5_blocks(ds) > qp->sq.mask + 1) {
		mlx5_chain_fail(qp, -explain(EINVAL,
					     "QP 0x%06x: a raw entry of %u units of 16 bytes; 1 to "
					     "%u fit the send queue",
					     qp->base.qpn, ds, (qp->sq.mask + 1) * 4));
		return;
	}
	if (!mlx5_chain_open(qp, 0, 0, (uint8_t)MLX5DV_WC_RAW_WQE))
		return;
	mlx5_put_bytes(&qp->sq, (uint8_t *)qp->chain.ctrl, wqe, ds * MLX5_DS);
	/* The WQE's index is the queue's. */
	what = be32toh(head.opmod_idx_opcode) & ~(MLX5_INDEX_MASK << 8);
	qp->chain.ctrl->opmod_idx_opcode = htobe32(what | (qp->sq.post & MLX5_INDEX_MASK) << 8);
	qp->sq.post += mlx5_blocks(ds);
	qp->chain.count++;
	qp->chain.ctrl = NULL;
}

static void wr_memcpy(struct mlx5dv_qp_ex *dv, uint32_t to_key, uint64_t to, uint32_t from_key,
		      uint64_t from, size_t length)
{
	struct mlx5_qp *qp = to_mqp_dv(dv);
	struct mlx5_mmo_wqe *wqe;

	if (!length || length > 1u << HCA_MMO_LOG_DMA) {
		mlx5_chain_fail(qp, -explain(EINVAL,
					     "QP 0x%06x: a copy of %zu bytes; 1 to %u can "
					     "be asked for",
					     qp->base.qpn, length, 1u << HCA_MMO_LOG_DMA));
		return;
	}
	if (!mlx5_chain_open(qp, MLX5_OPCODE_MMO, 0, 0))
		return;
	wqe = (void *)qp->chain.ctrl;
	wqe->ctrl.opmod_idx_opcode |= htobe32(MLX5_MMO_DMA << 24);
	memset(&wqe->meta, 0, sizeof(wqe->meta));
	mlx5_put_data((uint8_t *)&wqe->from, from, length, from_key);
	mlx5_put_data((uint8_t *)&wqe->to, to, length, to_key);
	qp->chain.ds = sizeof(*wqe) / MLX5_DS;
	mlx5_chain_close(qp);
}

/* ---- targets ---- */

static void wr_set_dc_addr(struct mlx5dv_qp_ex *dv, struct ibv_ah *ah, uint32_t dctn, uint64_t key)
{
	struct mlx5_qp *qp = to_mqp_dv(dv);

	if (likely(qp->chain.ctrl))
		mlx5_put_dc_address((uint8_t *)(qp->chain.ctrl + 1), to_ah(ah), dctn, key);
}

static void wr_set_dc_addr_stream(struct mlx5dv_qp_ex *dv, struct ibv_ah *ah, uint32_t dctn,
				  uint64_t key, uint16_t stream)
{
	struct mlx5_qp *qp = to_mqp_dv(dv);

	if (likely(qp->chain.ctrl))
		qp->chain.ctrl->dci_stream_channel_id = htobe16(stream);
	wr_set_dc_addr(dv, ah, dctn, key);
}

/* ---- what is not there ---- */

static void missing(struct mlx5dv_qp_ex *dv)
{
	struct mlx5_qp *qp = to_mqp_dv(dv);

	mlx5_chain_fail(qp, -explain(EOPNOTSUPP,
				     "QP 0x%06x: its type does not have this operation, or it was "
				     "made without it",
				     qp->base.qpn));
}

static void missing_dc_address(struct mlx5dv_qp_ex *dv, struct ibv_ah *ah, uint32_t dctn,
			       uint64_t key)
{
	missing(dv);
}

static void missing_dc_stream(struct mlx5dv_qp_ex *dv, struct ibv_ah *ah, uint32_t dctn,
			      uint64_t key, uint16_t stream)
{
	missing(dv);
}

static void missing_interleaved(struct mlx5dv_qp_ex *dv, struct mlx5dv_mkey *mkey, uint32_t access,
				uint32_t rounds, uint16_t count, struct mlx5dv_mr_interleaved *from)
{
	missing(dv);
}

static void missing_list(struct mlx5dv_qp_ex *dv, struct mlx5dv_mkey *mkey, uint32_t access,
			 uint16_t count, struct ibv_sge *sge)
{
	missing(dv);
}

static void missing_configure(struct mlx5dv_qp_ex *dv, struct mlx5dv_mkey *mkey, uint8_t setters,
			      struct mlx5dv_mkey_conf_attr *attr)
{
	missing(dv);
}

static void missing_access(struct mlx5dv_qp_ex *dv, uint32_t access)
{
	missing(dv);
}

static void missing_layout_list(struct mlx5dv_qp_ex *dv, uint16_t count, const struct ibv_sge *sge)
{
	missing(dv);
}

static void missing_layout_interleaved(struct mlx5dv_qp_ex *dv, uint32_t rounds, uint16_t count,
				       const struct mlx5dv_mr_interleaved *from)
{
	missing(dv);
}

static void missing_signature(struct mlx5dv_qp_ex *dv, const struct mlx5dv_sig_block_attr *attr)
{
	missing(dv);
}

static void missing_crypto(struct mlx5dv_qp_ex *dv, const struct mlx5dv_crypto_attr *attr)
{
	missing(dv);
}

static void missing_raw(struct mlx5dv_qp_ex *dv, const void *wqe)
{
	missing(dv);
}

static void missing_memcpy(struct mlx5dv_qp_ex *dv, uint32_t to_key, uint64_t to, uint32_t from_key,
			   uint64_t from, size_t length)
{
	missing(dv);
}

static uint64_t supported(const struct mlx5_qp *qp)
{
	uint64_t copy =
		qp->ctx->vb->adapter->model->mmo & HCA_MMO_CAN_DMA ? MLX5DV_QP_EX_WITH_MEMCPY : 0;

	switch (qp->base.type) {
	case HCA_QP_RC:
		return OPS_KEY | MLX5DV_QP_EX_WITH_RAW_WQE | copy;
	case HCA_QP_DCI:
		return MLX5DV_QP_EX_WITH_RAW_WQE | copy;
	default:
		return MLX5DV_QP_EX_WITH_RAW_WQE;
	}
}

int mlx5_qp_fill_dv(struct mlx5_qp *qp, uint64_t ops)
{
	uint64_t can = supported(qp);

	if (ops & ~can)
		return explain(EOPNOTSUPP,
			       "mlx5dv_create_qp: send_ops_flags 0x%llx; a QP of this type has "
			       "0x%llx",
			       (unsigned long long)ops, (unsigned long long)can);
	/* A QP made with one of these operations has all setters, as far as its WQEs have room. */
	can = ops ? can : 0;
	qp->dv = (struct mlx5dv_qp_ex){
		.wr_set_dc_addr = qp->base.type == HCA_QP_DCI ? wr_set_dc_addr : missing_dc_address,
		.wr_set_dc_addr_stream =
			qp->base.type == HCA_QP_DCI ? wr_set_dc_addr_stream : missing_dc_stream,
		.wr_raw_wqe = can ? wr_raw_wqe : missing_raw,
		.wr_memcpy = can & MLX5DV_QP_EX_WITH_MEMCPY ? wr_memcpy : missing_memcpy,
		.wr_mr_interleaved = missing_interleaved,
		.wr_mr_list = missing_list,
		.wr_mkey_configure = missing_configure,
		.wr_set_mkey_access_flags = missing_access,
		.wr_set_mkey_layout_list = missing_layout_list,
		.wr_set_mkey_layout_interleaved = missing_layout_interleaved,
		.wr_set_mkey_sig_block = missing_signature,
		.wr_set_mkey_crypto = missing_crypto,
	};
	if (!(ops & OPS_KEY))
		return 0;
	mlx5_wr_mkey_fill(&qp->dv);
	return 0;
}
