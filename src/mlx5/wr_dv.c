/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Operations between ibv_wr_start() and ibv_wr_complete(): whole WQEs made by the program, indirect
 * keys, memory copies, addresses of DC targets. decode.c reads these WQEs.
 */
#include "mlx5/wr_dv.h"

#include "hca/memory/mkey.h"
#include "mlx5/chain.h"
#include "mlx5/dv.h"
#include "mlx5/umr.h"

#define OPS_KEY                                                                                    \
	((uint64_t)(MLX5DV_QP_EX_WITH_MR_INTERLEAVED | MLX5DV_QP_EX_WITH_MR_LIST |                 \
		    MLX5DV_QP_EX_WITH_MKEY_CONFIGURE))

/* Segments of a UMR WQE in front of the layout. */
#define KEY_HEAD                                                                                   \
	(sizeof(struct mlx5_wqe_ctrl_seg) + sizeof(struct mlx5_wqe_umr_ctrl_seg) +                 \
	 sizeof(struct mlx5_wqe_mkey_context_seg))

#define RIGHTS                                                                                     \
	(MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_LOCAL_WRITE |                                          \
	 MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_REMOTE_READ |                                          \
	 MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_REMOTE_WRITE |                                         \
	 MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_ATOMIC)

static uint8_t *begin(struct mlx5_qp *qp, uint8_t opcode, uint32_t imm, uint8_t request)
{
	mlx5_chain_close(qp);
	if (qp->chain.err)
		return NULL;
	if (mlx5_sq_full(&qp->sq, qp->chain.count)) {
		mlx5_chain_fail(qp, -explain(ENOMEM,
					     "QP 0x%06x: the send queue is full with %u requests; "
					     "poll completions of signaled ones to make room",
					     qp->base.qpn, qp->sq.max_post));
		return NULL;
	}
	return mlx5_chain_begin(qp, opcode, imm, request);
}

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
	if (!begin(qp, 0, 0, (uint8_t)MLX5DV_WC_RAW_WQE))
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
	if (!begin(qp, MLX5_OPCODE_MMO, 0, 0))
		return;
	wqe = (void *)qp->chain.ctrl;
	wqe->ctrl.opmod_idx_opcode |= htobe32(MLX5_MMO_DMA << 24);
	memset(&wqe->meta, 0, sizeof(wqe->meta));
	mlx5_put_data((uint8_t *)&wqe->from, from, length, from_key);
	mlx5_put_data((uint8_t *)&wqe->to, to, length, to_key);
	qp->chain.ds = sizeof(*wqe) / MLX5_DS;
	mlx5_chain_close(qp);
}

/* ---- indirect keys ---- */

static struct mlx5_wqe_umr_ctrl_seg *umr_of(struct mlx5_qp *qp)
{
	return (void *)(qp->chain.ctrl + 1);
}

static struct mlx5_wqe_mkey_context_seg *context_of(struct mlx5_qp *qp)
{
	return (void *)mlx5_sq_wrap(&qp->sq, (uint8_t *)(umr_of(qp) + 1));
}

static void wr_mkey_configure(struct mlx5dv_qp_ex *dv, struct mlx5dv_mkey *public, uint8_t setters,
			      struct mlx5dv_mkey_conf_attr *attr)
{
	struct mlx5_qp *qp = to_mqp_dv(dv);
	struct mlx5_wqe_mkey_context_seg *context;
	struct mlx5_wqe_umr_ctrl_seg *umr;

	if (!(qp->base.vb.ex.wr_flags & IBV_SEND_INLINE) || attr->comp_mask ||
	    attr->conf_flags & ~MLX5DV_MKEY_CONF_FLAG_RESET_SIG_ATTR) {
		mlx5_chain_fail(qp,
				-explain(EOPNOTSUPP,
					 "mlx5dv_wr_mkey_configure: conf_flags 0x%x, comp_mask "
					 "0x%llx; only inline (IBV_SEND_INLINE), and 0",
					 attr->conf_flags, (unsigned long long)attr->comp_mask));
		return;
	}
	if (!begin(qp, MLX5_OPCODE_UMR, htobe32(public->lkey), (uint8_t)MLX5DV_WC_UMR))
		return;
	umr = umr_of(qp);
	context = context_of(qp);
	memset(umr, 0, sizeof(*umr));
	memset(context, 0, sizeof(*context));
	umr->flags = MLX5_WQE_UMR_CTRL_FLAG_INLINE;
	umr->mkey_mask =
		htobe64(MLX5_WQE_UMR_CTRL_MKEY_MASK_FREE | MLX5_WQE_UMR_CTRL_MKEY_MASK_MKEY);
	context->qpn_mkey = htobe32(MLX5_QPN_MASK << 8 | (public->lkey & 0xff));
	qp->chain.data = mlx5_sq_wrap(&qp->sq, (uint8_t *)(context + 1));
	qp->chain.ds = KEY_HEAD / MLX5_DS;
	qp->chain.mkey = to_mkey(public);
	qp->chain.setters = setters;
	qp->sq.fence_next = MLX5_WQE_CTRL_INITIATOR_SMALL_FENCE;
	if (!setters)
		mlx5_chain_close(qp);
}

/* Whether a setter is expected; the last announced one ends the request. */
static bool check_setter(struct mlx5_qp *qp)
{
	if (qp->chain.err)
		return false;
	if (qp->chain.ctrl && qp->chain.mkey)
		return true;
	mlx5_chain_fail(qp,
			-explain(EINVAL,
				 "QP 0x%06x: a key's attribute without mlx5dv_wr_mkey_configure() "
				 "before it, or one more than it was told of",
				 qp->base.qpn));
	return false;
}

static void setter_done(struct mlx5_qp *qp)
{
	if (--qp->chain.setters)
		return;
	qp->chain.mkey = NULL;
	mlx5_chain_close(qp);
}

static void wr_set_mkey_access_flags(struct mlx5dv_qp_ex *dv, uint32_t access)
{
	const uint32_t known = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			       IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	struct mlx5_qp *qp = to_mqp_dv(dv);

	if (!check_setter(qp))
		return;
	if (access & ~known || umr_of(qp)->mkey_mask & htobe64(RIGHTS)) {
		mlx5_chain_fail(qp, -explain(EINVAL,
					     "QP 0x%06x: access 0x%x for a key: 0x%x is "
					     "known, and can be set once",
					     qp->base.qpn, access, known));
		return;
	}
	umr_of(qp)->mkey_mask |= htobe64(RIGHTS);
	context_of(qp)->access_flags = mlx5_access_flags(access);
	setter_done(qp);
}

/* Bytes of a layout's entries, padded with zeros to whole blocks. */
static bool make_room(struct mlx5_qp *qp, uint32_t count, uint32_t entries)
{
	uint32_t most = (qp->sq.max_inline + sizeof(struct mlx5_wqe_inl_data_seg)) / MLX5_DS;
	uint8_t *at = qp->chain.data;

	if (entries > most || count > qp->chain.mkey->hca->max_entries) {
		mlx5_chain_fail(
			qp, -explain(ENOMEM,
				     "QP 0x%06x: a key of %u entries; it was created for %u, and "
				     "inline data of the QP has room for %u",
				     qp->base.qpn, count, qp->chain.mkey->hca->max_entries, most));
		return false;
	}
	if (umr_of(qp)->klm_octowords) {
		mlx5_chain_fail(
			qp, -explain(EINVAL, "QP 0x%06x: a key with two layouts", qp->base.qpn));
		return false;
	}
	entries = (entries + 3) & ~3u;
	for (uint32_t i = 0; i < entries; i++) {
		memset(at, 0, MLX5_DS);
		at = mlx5_sq_wrap(&qp->sq, at + MLX5_DS);
	}
	umr_of(qp)->klm_octowords = htobe16(entries);
	qp->chain.ds += entries;
	return true;
}

static void set_length(struct mlx5_qp *qp, uint64_t length)
{
	context_of(qp)->len = htobe64(length);
	umr_of(qp)->mkey_mask |= htobe64(MLX5_WQE_UMR_CTRL_MKEY_MASK_LEN);
}

static void wr_set_mkey_layout_list(struct mlx5dv_qp_ex *dv, uint16_t count,
				    const struct ibv_sge *sge)
{
	struct mlx5_qp *qp = to_mqp_dv(dv);
	uint64_t length = 0;
	uint8_t *at;

	if (!check_setter(qp) || !make_room(qp, count, count))
		return;
	at = qp->chain.data;
	for (uint16_t i = 0; i < count; i++) {
		struct mlx5_wqe_umr_klm_seg *klm = (void *)at;

		klm->byte_count = htobe32(sge[i].length);
		klm->mkey = htobe32(sge[i].lkey);
		klm->address = htobe64(sge[i].addr);
		length += sge[i].length;
		at = mlx5_sq_wrap(&qp->sq, at + sizeof(*klm));
	}
	set_length(qp, length);
	setter_done(qp);
}

static bool interleaved_fits(struct mlx5_qp *qp, uint16_t count,
			     const struct mlx5dv_mr_interleaved *from)
{
	for (uint16_t i = 0; i < count; i++)
		if ((uint64_t)from[i].bytes_count + from[i].bytes_skip > UINT16_MAX) {
			mlx5_chain_fail(qp, -explain(EINVAL,
						     "QP 0x%06x: entry %u has %u bytes and skips "
						     "%u; together at most %u",
						     qp->base.qpn, i, from[i].bytes_count,
						     from[i].bytes_skip, UINT16_MAX));
			return false;
		}
	return true;
}

static void wr_set_mkey_layout_interleaved(struct mlx5dv_qp_ex *dv, uint32_t rounds, uint16_t count,
					   const struct mlx5dv_mr_interleaved *from)
{
	struct mlx5_qp *qp = to_mqp_dv(dv);
	struct mlx5_wqe_umr_repeat_block_seg *block;
	uint64_t length = 0;
	uint8_t *at;

	if (!check_setter(qp) || !interleaved_fits(qp, count, from) ||
	    !make_room(qp, count, count + 1u))
		return;
	block = (void *)qp->chain.data;
	block->op = htobe32(MLX5_REPEAT_BLOCK);
	block->repeat_count = htobe32(rounds);
	block->num_ent = htobe16(count);
	at = mlx5_sq_wrap(&qp->sq, qp->chain.data + sizeof(*block));
	for (uint16_t i = 0; i < count; i++) {
		struct mlx5_wqe_umr_repeat_ent_seg *entry = (void *)at;

		entry->stride = htobe16(from[i].bytes_count + from[i].bytes_skip);
		entry->byte_count = htobe16(from[i].bytes_count);
		entry->memkey = htobe32(from[i].lkey);
		entry->va = htobe64(from[i].addr);
		length += from[i].bytes_count;
		at = mlx5_sq_wrap(&qp->sq, at + sizeof(*entry));
	}
	block->byte_count = htobe32(length);
	set_length(qp, length * rounds);
	setter_done(qp);
}

static void wr_mr_list(struct mlx5dv_qp_ex *dv, struct mlx5dv_mkey *mkey, uint32_t access,
		       uint16_t count, struct ibv_sge *sge)
{
	struct mlx5dv_mkey_conf_attr attr = { 0 };

	wr_mkey_configure(dv, mkey, 2, &attr);
	wr_set_mkey_access_flags(dv, access);
	wr_set_mkey_layout_list(dv, count, sge);
}

static void wr_mr_interleaved(struct mlx5dv_qp_ex *dv, struct mlx5dv_mkey *mkey, uint32_t access,
			      uint32_t rounds, uint16_t count, struct mlx5dv_mr_interleaved *from)
{
	struct mlx5dv_mkey_conf_attr attr = { 0 };

	wr_mkey_configure(dv, mkey, 2, &attr);
	wr_set_mkey_access_flags(dv, access);
	wr_set_mkey_layout_interleaved(dv, rounds, count, from);
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
	qp->dv.wr_mr_interleaved = wr_mr_interleaved;
	qp->dv.wr_mr_list = wr_mr_list;
	qp->dv.wr_mkey_configure = wr_mkey_configure;
	qp->dv.wr_set_mkey_access_flags = wr_set_mkey_access_flags;
	qp->dv.wr_set_mkey_layout_list = wr_set_mkey_layout_list;
	qp->dv.wr_set_mkey_layout_interleaved = wr_set_mkey_layout_interleaved;
	return 0;
}
