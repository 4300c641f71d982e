/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * WQEs that configure indirect keys: their rights, layout and signatures. decode.c reads them.
 */
#include "mlx5/wr_mkey.h"

#include "hca/memory/mkey.h"
#include "hca/memory/psv.h"
#include "mlx5/bsf.h"
#include "mlx5/chain.h"
#include "mlx5/sig.h"
#include "mlx5/umr.h"

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

/* The BSF behind the layout. */
static void put_sig_bsf(struct mlx5_qp *qp, const struct mlx5_sig *sig)
{
	uint32_t layout = be16toh(umr_of(qp)->klm_octowords) * MLX5_DS;
	uint32_t most = qp->sq.max_inline + sizeof(struct mlx5_wqe_inl_data_seg);
	uint8_t *at = mlx5_sq_wrap(&qp->sq, qp->chain.data + layout);
	struct mlx5_sig_bsf bsf;

	if (layout + sizeof(bsf) > most) {
		mlx5_chain_fail(qp, -explain(ENOMEM,
					     "QP 0x%06x: a key's layout and signatures take %zu "
					     "bytes; inline data of the QP has room for %u",
					     qp->base.qpn, layout + sizeof(bsf), most));
		return;
	}
	mlx5_sig_bsf_encode(&sig->conf, false, &bsf);
	memcpy(at, &bsf, sizeof(bsf));
	umr_of(qp)->bsf_octowords = htobe16(sizeof(bsf) / MLX5_DS);
	qp->chain.ds += sizeof(bsf) / MLX5_DS;
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

/* All announced setters were called. */
static void finish(struct mlx5_qp *qp)
{
	struct mlx5_sig *sig = qp->chain.mkey->sig;
	bool configured, failed;
	uint8_t errors;

	if (!sig) {
		mlx5_chain_close(qp);
		return;
	}
	configured = sig->conf.memory.kind || sig->conf.wire.kind;
	failed = mlx5_sig_count_errors(sig, &errors);
	if (failed) {
		umr_of(qp)->mkey_mask |= htobe64(MLX5_WQE_UMR_CTRL_MKEY_MASK_SIG_ERR);
		context_of(qp)->flags_pd |= htobe32((errors & 1u) << MLX5_MKEY_SIG_ERR_SHIFT);
	}
	if (sig->is_set || !configured)
		umr_of(qp)->mkey_mask |= htobe64(MLX5_WQE_UMR_CTRL_MKEY_MASK_BSF_ENABLE);
	if (sig->is_set) {
		context_of(qp)->flags_pd |= htobe32(MLX5_MKEY_BSF_ENABLE);
		put_sig_bsf(qp, sig);
	}
	if (sig->is_set || (failed && configured))
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

void mlx5_wr_mkey_fill(struct mlx5dv_qp_ex *dv)
{
	dv->wr_mr_interleaved = wr_mr_interleaved;
	dv->wr_mr_list = wr_mr_list;
	dv->wr_mkey_configure = wr_mkey_configure;
	dv->wr_set_mkey_access_flags = wr_set_mkey_access_flags;
	dv->wr_set_mkey_layout_list = wr_set_mkey_layout_list;
	dv->wr_set_mkey_layout_interleaved = wr_set_mkey_layout_interleaved;
	dv->wr_set_mkey_sig_block = wr_set_mkey_sig_block;
}
