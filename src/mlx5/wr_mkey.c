/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * WQEs that configure indirect keys: their rights, layout, signatures and encryption. decode.c
 * reads them.
 */
#include "mlx5/wr_mkey.h"

#include "hca/memory/mkey.h"
#include "hca/memory/psv.h"
#include "mlx5/bsf.h"
#include "mlx5/bsf_crypto.h"
#include "mlx5/chain.h"
#include "mlx5/sig.h"
#include "mlx5/umr.h"
#include "mlx5/wr_crypto.h"

/* Segments of a UMR WQE in front of the layout. */
#define KEY_HEAD                                                                                   \
	(sizeof(struct mlx5_wqe_ctrl_seg) + sizeof(struct mlx5_wqe_umr_ctrl_seg) +                 \
	 sizeof(struct mlx5_wqe_mkey_context_seg))

#define RIGHTS                                                                                     \
	(MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_LOCAL_WRITE |                                          \
	 MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_REMOTE_READ |                                          \
	 MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_REMOTE_WRITE |                                         \
	 MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_ATOMIC)

static struct mlx5_wqe_umr_ctrl_seg *umr_of(struct mlx5_qp *qp)
{
	return (void *)(qp->chain.ctrl + 1);
}

static struct mlx5_wqe_mkey_context_seg *context_of(struct mlx5_qp *qp)
{
	return (void *)mlx5_sq_wrap(&qp->sq, (uint8_t *)(umr_of(qp) + 1));
}

static enum hca_crypto_engine engine_of(const struct mlx5_qp *qp)
{
	return qp->ctx->vb->adapter->model->crypto;
}

static uint8_t *put_bsf(struct mlx5_qp *qp, uint8_t *at, const void *bsf)
{
	memcpy(at, bsf, MLX5_BLOCK_SIZE);
	qp->chain.ds += MLX5_BLOCK_SIZE / MLX5_DS;
	return mlx5_sq_wrap(&qp->sq, at + MLX5_BLOCK_SIZE);
}

/* The BSFs behind the layout; a key that has signatures and encrypts has both. */
static void put_bsfs(struct mlx5_qp *qp, const struct mlx5_mkey *mkey)
{
	bool sig = mkey->sig, crypto = mkey->crypto && mkey->crypto->configured;
	uint32_t layout = be16toh(umr_of(qp)->klm_octowords) * MLX5_DS;
	uint32_t most = qp->sq.max_inline + sizeof(struct mlx5_wqe_inl_data_seg);
	uint32_t bytes = (sig + crypto) * MLX5_BLOCK_SIZE;
	uint8_t *at = mlx5_sq_wrap(&qp->sq, qp->chain.data + layout);
	struct mlx5_crypto_bsf crypto_bsf;
	struct mlx5_sig_bsf sig_bsf;

	if (layout + bytes > most) {
		mlx5_chain_fail(qp, -explain(ENOMEM,
					     "QP 0x%06x: a key's layout, signatures and encryption "
					     "take %u bytes; inline data of the QP has room for %u",
					     qp->base.qpn, layout + bytes, most));
		return;
	}
	if (sig) {
		mlx5_sig_bsf_encode(&mkey->sig->conf, crypto, &sig_bsf);
		at = put_bsf(qp, at, &sig_bsf);
	}
	if (crypto) {
		mlx5_crypto_bsf_encode(&mkey->crypto->conf, engine_of(qp), sig, &crypto_bsf);
		put_bsf(qp, at, &crypto_bsf);
	}
	umr_of(qp)->bsf_octowords = htobe16(bytes / MLX5_DS);
	umr_of(qp)->mkey_mask |= htobe64(MLX5_WQE_UMR_CTRL_MKEY_MASK_BSF_ENABLE);
	context_of(qp)->flags_pd |= htobe32(MLX5_MKEY_BSF_ENABLE);
}

static void put_psv(struct mlx5_qp *qp, const struct hca_psv *psv, const struct hca_sig_domain *d,
		    bool last)
{
	struct mlx5_set_psv_seg *seg;

	if (!mlx5_chain_open(qp, MLX5_OPCODE_SET_PSV, 0, (uint8_t)MLX5DV_WC_UMR))
		return;
	if (!last)
		qp->chain.ctrl->fm_ce_se &= ~MLX5_WQE_CTRL_CQ_UPDATE;
	seg = (void *)(qp->chain.ctrl + 1);
	*seg = (struct mlx5_set_psv_seg){ .index = htobe32(psv->index),
					  .value = htobe64(mlx5_sig_start(d)) };
	qp->chain.ds = (sizeof(struct mlx5_wqe_ctrl_seg) + sizeof(*seg)) / MLX5_DS;
	mlx5_chain_close(qp);
	qp->sq.fence_next = MLX5_WQE_CTRL_INITIATOR_SMALL_FENCE;
}

/* The key is ready when its contexts are set: only the last WQE tells of its completion. */
static void close_with_psvs(struct mlx5_qp *qp, const struct mlx5_sig *sig)
{
	bool memory = sig->conf.memory.kind, wire = sig->conf.wire.kind;

	if (qp->chain.ctrl && (memory || wire))
		qp->chain.ctrl->fm_ce_se &= ~MLX5_WQE_CTRL_CQ_UPDATE;
	mlx5_chain_close(qp);
	qp->sq.fence_next = MLX5_WQE_CTRL_INITIATOR_SMALL_FENCE;
	if (memory)
		put_psv(qp, sig->memory, &sig->conf.memory, !wire);
	if (wire)
		put_psv(qp, sig->wire, &sig->conf.wire, true);
}

/* Whether errors of signatures have come; the key counts them. */
static bool put_error_count(struct mlx5_qp *qp, struct mlx5_sig *sig)
{
	uint8_t errors;

	if (!mlx5_sig_count_errors(sig, &errors))
		return false;
	umr_of(qp)->mkey_mask |= htobe64(MLX5_WQE_UMR_CTRL_MKEY_MASK_SIG_ERR);
	context_of(qp)->flags_pd |= htobe32((errors & 1u) << MLX5_MKEY_SIG_ERR_SHIFT);
	return true;
}

/* All announced setters were called. */
static void finish(struct mlx5_qp *qp)
{
	const struct mlx5_mkey *mkey = qp->chain.mkey;
	const struct mlx5_crypto *crypto = mkey->crypto;
	struct mlx5_sig *sig = mkey->sig;
	bool is_signed = sig && (sig->conf.memory.kind || sig->conf.wire.kind);
	bool failed = sig && put_error_count(qp, sig);
	int err = crypto ? mlx5_crypto_check(mkey, engine_of(qp)) : 0;

	if (err) {
		mlx5_chain_fail(qp, -err);
		return;
	}
	if ((sig && sig->is_set) ||
	    (crypto && (crypto->is_set || (crypto->configured && sig && !is_signed))))
		put_bsfs(qp, mkey);
	else if (sig && !is_signed)
		umr_of(qp)->mkey_mask |= htobe64(MLX5_WQE_UMR_CTRL_MKEY_MASK_BSF_ENABLE);
	if (sig && (sig->is_set || (failed && is_signed)))
		close_with_psvs(qp, sig);
	else
		mlx5_chain_close(qp);
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
	if (!mlx5_chain_open(qp, MLX5_OPCODE_UMR, htobe32(public->lkey), (uint8_t)MLX5DV_WC_UMR))
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
	if (qp->chain.mkey->sig)
		mlx5_sig_begin(qp->chain.mkey->sig,
			       attr->conf_flags & MLX5DV_MKEY_CONF_FLAG_RESET_SIG_ATTR);
	if (qp->chain.mkey->crypto)
		qp->chain.mkey->crypto->is_set = false;
	if (!setters)
		finish(qp);
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
	if (!--qp->chain.setters)
		finish(qp);
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
	qp->chain.mkey->length = length;
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

static void wr_set_mkey_sig_block(struct mlx5dv_qp_ex *dv, const struct mlx5dv_sig_block_attr *attr)
{
	struct mlx5_qp *qp = to_mqp_dv(dv);
	int err;

	if (!check_setter(qp))
		return;
	err = mlx5_sig_set(qp->chain.mkey, attr);
	if (err)
		mlx5_chain_fail(qp, -err);
	else
		setter_done(qp);
}

static void wr_set_mkey_crypto(struct mlx5dv_qp_ex *dv, const struct mlx5dv_crypto_attr *attr)
{
	struct mlx5_qp *qp = to_mqp_dv(dv);
	int err;

	if (!check_setter(qp))
		return;
	err = mlx5_crypto_set(qp->chain.mkey, attr);
	if (err)
		mlx5_chain_fail(qp, -err);
	else
		setter_done(qp);
}

void mlx5_wr_mkey_fill(struct mlx5dv_qp_ex *dv)
{
	dv->wr_mr_interleaved = wr_mr_interleaved;
	dv->wr_mr_list = wr_mr_list;
	dv->wr_mkey_configure = wr_mkey_configure;
	dv->wr_set_mkey_access_flags = wr_set_mkey_access_flags;
	dv->wr_set_mkey_layout_list = wr_set_mkey_layout_list;
	dv->wr_set_mkey_layout_interleaved = wr_set_mkey_layout_interleaved;
	dv->wr_set_mkey_sig_block = wr_set_mkey_sig_block;
	dv->wr_set_mkey_crypto = wr_set_mkey_crypto;
}
