/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The adapter reads send WQEs with the QP's lock held, but a program may write to the ring
 * meanwhile: each word is read once and checked before it is used, and no pointer leaves the ring.
 */
#include "mlx5/decode.h"

#include <endian.h>
#include <string.h>

#include "driver/recv_wqe.h"
#include "hca/device/access.h"
#include "hca/memory/psv.h"
#include "hca/transport/qp.h"
#include "mlx5/av.h"
#include "mlx5/bsf.h"
#include "mlx5/bsf_crypto.h"
#include "mlx5/decode_mmo.h"
#include "mlx5/decode_aso.h"
#include "mlx5/wqe.h"
#include "util/explain.h"

#define ON(type) (1u << HCA_QP_##type)
#define RELIABLE (ON(RC) | ON(XRC_SEND) | ON(DCI))
#define ANY      (RELIABLE | ON(UC) | ON(UD) | ON(RAW))

enum seg {
	SEG_RADDR = 1 << 0,
	SEG_ATOMIC = 1 << 1,
	SEG_KEY = 1 << 2,   /* the control segment's last word is a key, not immediate data */
	SEG_OTHER = 1 << 3, /* the segments are those of the operation: take_other() */
	SEG_FLUSH = 1 << 4, /* and no data */
	SEG_WHOLE = 1 << 5, /* inline data stays in one piece */
	SEG_MASKED = 1 << 6,
};

/* The operation of each opcode, the QP types that have it, and its segments. */
static const struct {
	uint8_t op;
	uint8_t segs;
	uint16_t types;
} opcodes[] = {
	[MLX5_OPCODE_NOP] = { HCA_OP_NOP, SEG_OTHER, ANY },
	[MLX5_OPCODE_SEND_INVAL] = { HCA_OP_SEND_INV, SEG_KEY, RELIABLE },
	[MLX5_OPCODE_RDMA_WRITE] = { HCA_OP_WRITE, SEG_RADDR, RELIABLE | ON(UC) },
	[MLX5_OPCODE_RDMA_WRITE_IMM] = { HCA_OP_WRITE_IMM, SEG_RADDR, RELIABLE | ON(UC) },
	[MLX5_OPCODE_SEND] = { HCA_OP_SEND, 0, ANY },
	[MLX5_OPCODE_TSO] = { HCA_OP_TSO, 0, ON(RAW) },
	[MLX5_OPCODE_EMPW] = { HCA_OP_FRAMES, SEG_WHOLE, ON(RAW) },
	[MLX5_OPCODE_SEND_IMM] = { HCA_OP_SEND_IMM, 0, RELIABLE | ON(UC) | ON(UD) },
	[MLX5_OPCODE_RDMA_READ] = { HCA_OP_READ, SEG_RADDR, RELIABLE },
	[MLX5_OPCODE_ATOMIC_CS] = { HCA_OP_CMP_SWAP, SEG_RADDR | SEG_ATOMIC, RELIABLE },
	[MLX5_OPCODE_ATOMIC_FA] = { HCA_OP_FETCH_ADD, SEG_RADDR | SEG_ATOMIC, RELIABLE },
	[MLX5_OPCODE_ATOMIC_MASKED_CS] = { HCA_OP_MASKED_CMP_SWAP, SEG_OTHER, RELIABLE },
	[MLX5_OPCODE_ATOMIC_MASKED_FA] = { HCA_OP_MASKED_FETCH_ADD, SEG_OTHER, RELIABLE },
	[MLX5_OPCODE_LOCAL_INVAL] = { HCA_OP_LOCAL_INV, SEG_KEY | SEG_OTHER, RELIABLE | ON(UC) },
	[MLX5_OPCODE_MMO] = { HCA_OP_MMO, SEG_KEY | SEG_OTHER, RELIABLE | ON(RAW) },
	[MLX5_OPCODE_SET_PSV] = { HCA_OP_SET_PSV, SEG_OTHER, RELIABLE },
	[MLX5_OPCODE_GET_PSV] = { HCA_OP_GET_PSV, SEG_OTHER, RELIABLE },
	[MLX5_OPCODE_UMR] = { HCA_OP_UMR, SEG_KEY | SEG_OTHER, RELIABLE | ON(UC) },
	[MLX5_OPCODE_ACCESS_ASO] = { HCA_OP_ASO, SEG_OTHER, ON(RAW) },
	[MLX5_OPCODE_TAG_MATCHING] = { HCA_OP_TAG, SEG_OTHER, ON(RC) },
	[MLX5_OPCODE_FLUSH] = { HCA_OP_FLUSH, SEG_RADDR | SEG_FLUSH, RELIABLE },
	[MLX5_OPCODE_ATOMIC_WRITE] = { HCA_OP_ATOMIC_WRITE, SEG_RADDR, RELIABLE },
};

/*
 * The part of a WQE that has not been read; `left` is in units of 16 bytes. Nearly all WQEs end
 * before the ring does: `straight`, a constant at every call, lets the compiler make a variant
 * without wrap-around.
 */
struct cursor {
	const uint8_t *seg;
	const uint8_t *ring, *end;
	uint32_t left;
};

#define ALWAYS_INLINE static inline __attribute__((always_inline))

ALWAYS_INLINE void advance(struct cursor *c, bool straight, uint32_t bytes)
{
	c->left -= bytes / MLX5_DS;
	c->seg += bytes;
	if (!straight && c->seg >= c->end)
		c->seg -= c->end - c->ring;
}

/* The next segment, of a whole number of units; NULL when the WQE or the ring ends inside it. */
ALWAYS_INLINE const void *take(struct cursor *c, bool straight, uint32_t bytes)
{
	const uint8_t *seg = c->seg;

	if (unlikely(c->left < bytes / MLX5_DS) ||
	    (!straight && unlikely((size_t)(c->end - seg) < bytes)))
		return NULL;
	advance(c, straight, bytes);
	return seg;
}

static __attribute__((cold, noinline)) void bad(const struct hca_qp *qp, uint32_t index,
						struct hca_send *out, const char *field,
						uint32_t is, uint32_t right)
{
	out->bad = true;
	out->bad_status = HCA_LOC_QP_OP_ERR;
	out->bad_vendor = MLX5_VENDOR_BAD_ENTRY;
	explain_note("QP 0x%06x: send entry %u (block %u of %u) has %s 0x%x; expected 0x%x",
		     qp->qpn, index & MLX5_INDEX_MASK, index & (qp->sq.size - 1), qp->sq.size,
		     field, is, right);
}

/* The control segment does not fit the slot or the QP: the rest of the WQE is not read. */
static __attribute__((cold, noinline)) void bad_control(const struct hca_qp *qp, uint32_t index,
							uint32_t op_word, uint32_t qpn_word,
							struct hca_send *out)
{
	uint32_t ds = qpn_word & MLX5_DS_MASK;

	out->op = HCA_OP_NOP;
	if (!ds || out->blocks > qp->sq.size) {
		out->blocks = 1;
		bad(qp, index, out, "length (16-byte units)", ds, 1);
	} else if ((op_word >> 8 & MLX5_INDEX_MASK) != (index & MLX5_INDEX_MASK)) {
		bad(qp, index, out, "index", op_word >> 8 & MLX5_INDEX_MASK,
		    index & MLX5_INDEX_MASK);
	} else if (qpn_word >> 8 != qp->qpn) {
		bad(qp, index, out, "QP number", qpn_word >> 8, qp->qpn);
	} else {
		bad(qp, index, out, "opcode", op_word & 0xff, MLX5_OPCODE_SEND);
	}
}

ALWAYS_INLINE void add_piece(struct hca_send *out, uint64_t addr, uint32_t len, uint32_t key)
{
	struct hca_sge *sge = &out->sge[out->sge_count++];

	sge->addr = addr;
	sge->len = len;
	sge->key = key;
	out->length += len;
}

/* Inline data at `from`: two pieces when it wraps around the ring's end. */
ALWAYS_INLINE void add_inline(const struct cursor *c, bool straight, const uint8_t *from,
			      uint32_t len, struct hca_send *out)
{
	size_t room = c->end - from;

	if (straight || likely(len <= room)) {
		add_piece(out, (uintptr_t)from, len, HCA_KEY_INLINE);
		return;
	}
	add_piece(out, (uintptr_t)from, room, HCA_KEY_INLINE);
	add_piece(out, (uintptr_t)c->ring, len - room, HCA_KEY_INLINE);
}

ALWAYS_INLINE bool take_inline(struct cursor *c, bool straight, uint32_t len, struct hca_send *out)
{
	const uint32_t fixed = sizeof(struct mlx5_wqe_inl_data_seg);
	uint32_t units = (len + fixed + MLX5_DS - 1) / MLX5_DS;

	if (unlikely(len > MLX5_SQ_ENTRY_MAX || units > c->left))
		return false;
	add_inline(c, straight, c->seg + fixed, len, out);
	advance(c, straight, units * MLX5_DS);
	return true;
}

/* The rest of the WQE is data segments. */
ALWAYS_INLINE bool take_data(struct cursor *c, bool straight, struct hca_send *out)
{
	while (c->left) {
		const struct mlx5_wqe_data_seg *seg = (const void *)c->seg;
		uint32_t count = drv_load32(&seg->byte_count);

		if (count & MLX5_INLINE_SEG) {
			if (unlikely(!take_inline(c, straight, count & ~MLX5_INLINE_SEG, out)))
				return false;
			continue;
		}
		add_piece(out, drv_load64(&seg->addr), count ? count : MLX5_DATA_SEG_MAX,
			  drv_load_key(&seg->lkey));
		advance(c, straight, sizeof(*seg));
	}
	return true;
}

/* The range of a FLUSH is its length, although it moves no data; nothing may follow. */
ALWAYS_INLINE bool take_flush(struct cursor *c, bool straight, struct hca_send *out)
{
	const struct mlx5_wqe_flush_seg *flush = take(c, straight, sizeof(*flush));

	if (!flush || c->left)
		return false;
	out->feth = drv_load32(&flush->feth);
	out->length = drv_load32(&flush->length);
	return true;
}

/*
 * One unit; a compare and swap of 8 bytes has its masks in another, which may be at the ring's
 * beginning.
 */
static __attribute__((noinline)) bool take_masked(struct cursor *c, bool straight,
						  struct hca_atomic *out)
{
	const __be64 *eight = take(c, straight, MLX5_DS);
	const __be32 *four = (const void *)eight;

	if (!eight)
		return false;
	if (out->size == 4) {
		out->swap = drv_load32(&four[0]);
		out->compare = drv_load32(&four[1]);
		out->swap_mask = drv_load32(&four[2]);
		out->compare_mask = drv_load32(&four[3]);
		return true;
	}
	out->swap = drv_load64(&eight[0]);
	out->compare = drv_load64(&eight[1]);
	if (out->add)
		return true;
	eight = take(c, straight, MLX5_DS);
	if (!eight)
		return false;
	out->swap_mask = drv_load64(&eight[0]);
	out->compare_mask = drv_load64(&eight[1]);
	return true;
}

ALWAYS_INLINE bool take_operation(struct cursor *c, bool straight, uint8_t segs,
				  struct hca_send *out)
{
	const struct mlx5_wqe_raddr_seg *raddr = take(c, straight, sizeof(*raddr));
	const struct mlx5_wqe_atomic_seg *atomic;

	if (unlikely(!raddr))
		return false;
	out->raddr = drv_load64(&raddr->raddr);
	out->rkey = drv_load32(&raddr->rkey);
	if (likely(!(segs & (SEG_ATOMIC | SEG_FLUSH | SEG_MASKED))))
		return true;
	if (segs & SEG_MASKED)
		return take_masked(c, straight, &out->masked);
	if (segs & SEG_FLUSH)
		return take_flush(c, straight, out);
	atomic = take(c, straight, sizeof(*atomic));
	if (!atomic)
		return false;
	if (out->op == HCA_OP_CMP_SWAP) {
		out->compare = drv_load64(&atomic->compare);
		out->swap = drv_load64(&atomic->swap_add);
	} else {
		out->compare = drv_load64(&atomic->swap_add);
	}
	return true;
}

/*
 * The frame's first bytes follow the fixed part of the Ethernet segment, rounded up to whole units.
 */
ALWAYS_INLINE bool take_ethernet(struct cursor *c, bool straight, struct hca_send *out)
{
	const struct mlx5_wqe_eth_seg *eth = (const void *)c->seg;
	const uint32_t fixed = offsetof(struct mlx5_wqe_eth_seg, inline_hdr_start);
	uint32_t header, units;
	uint8_t flags;

	if (!c->left)
		return false;
	flags = __atomic_load_n(&eth->cs_flags, __ATOMIC_RELAXED);
	out->offload = (flags & MLX5_ETH_WQE_L3_CSUM ? HCA_OFFLOAD_L3 : 0) |
		       (flags & MLX5_ETH_WQE_L4_CSUM ? HCA_OFFLOAD_L4 : 0) |
		       (flags & MLX5_ETH_INNER_L3 ? HCA_OFFLOAD_INNER_L3 : 0) |
		       (flags & MLX5_ETH_INNER_L4 ? HCA_OFFLOAD_INNER_L4 : 0);
	out->wire_only = false;
	out->mss = be16toh(__atomic_load_n(&eth->mss, __ATOMIC_RELAXED)) & MLX5_ETH_MSS_MASK;
	header = be16toh(__atomic_load_n(&eth->inline_hdr_sz, __ATOMIC_RELAXED));
	if (header & MLX5_ETH_INSERT_VLAN) {
		/* The VLAN tag is in the place of inline headers. */
		out->offload |= HCA_OFFLOAD_VLAN;
		out->vlan_tci =
			(uint16_t)(eth->inline_hdr_start[0] << 8 | eth->inline_hdr_start[1]);
		header = 0;
	}
	out->tso_header = header;
	units = (fixed + header + MLX5_DS - 1) / MLX5_DS;
	if (units > c->left)
		return false;
	if (header)
		add_inline(c, straight, c->seg + fixed, header, out);
	advance(c, straight, units * MLX5_DS);
	return true;
}

/*
 * MLX5_EXTENDED_UD_AV: the address vector is whole; else it is its first unit, which has the LID.
 */
ALWAYS_INLINE bool take_address(const struct hca_qp *qp, struct cursor *c, bool straight,
				struct hca_send *out)
{
	const struct mlx5_wqe_av *av = (const void *)c->seg;
	struct mlx5_wqe_av brief = { .dqp_dct = 0 };
	uint32_t to;

	if (unlikely(!c->left))
		return false;
	to = drv_load32(&av->dqp_dct);
	av = take(c, straight, to & MLX5_EXTENDED_UD_AV ? sizeof(*av) : MLX5_DS);
	if (unlikely(!av))
		return false;
	if (unlikely(!(to & MLX5_EXTENDED_UD_AV))) {
		memcpy(&brief, av, MLX5_DS);
		av = &brief;
	}
	mlx5_av_decode(av, qp->ctx->adapter->ports[0].link == HCA_LINK_ETHERNET, &out->av);
	out->dqpn = to & MLX5_QPN_MASK;
	if (qp->type == HCA_QP_DCI)
		out->dc_key = drv_load64(&av->key.dc_key);
	else
		out->qkey = drv_load32(&av->key.qkey.qkey);
	return true;
}

ALWAYS_INLINE bool take_transport(const struct hca_qp *qp, struct cursor *c, bool straight,
				  struct hca_send *out)
{
	const struct mlx5_wqe_xrc_seg *xrc;

	switch (qp->type) {
	case HCA_QP_UD:
	case HCA_QP_DCI:
		return take_address(qp, c, straight, out);
	case HCA_QP_XRC_SEND:
		xrc = take(c, straight, sizeof(*xrc));
		if (unlikely(!xrc))
			return false;
		out->xrc_srqn = drv_load32(&xrc->srqn) & MLX5_QPN_MASK;
		return true;
	case HCA_QP_RAW:
		return take_ethernet(c, straight, out);
	default:
		return true;
	}
}

/* The operation's segment and the data. */
ALWAYS_INLINE bool take_message(struct cursor *c, bool straight, uint8_t segs, struct hca_send *out)
{
	return (!(segs & SEG_RADDR) || take_operation(c, straight, segs, out)) &&
	       take_data(c, straight, out);
}

ALWAYS_INLINE bool take_segments(const struct hca_qp *qp, struct cursor c, bool straight,
				 uint8_t segs, struct hca_send *out)
{
	return take_transport(qp, &c, straight, out) && take_message(&c, straight, segs, out);
}

static uint32_t window_access(uint8_t flags)
{
	uint32_t access = 0;

	if (flags & MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_LOCAL_WRITE)
		access |= HCA_ACCESS_LOCAL_WRITE;
	if (flags & MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_REMOTE_READ)
		access |= HCA_ACCESS_REMOTE_READ;
	if (flags & MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_REMOTE_WRITE)
		access |= HCA_ACCESS_REMOTE_WRITE;
	if (flags & MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_ATOMIC)
		access |= HCA_ACCESS_REMOTE_ATOMIC;
	return access;
}

/*
 * The layout of an indirect key: KLM entries, or a repeat block (umr_repeat_block_seg) with its
 * entries.
 */
static bool take_layout(struct cursor *c, uint32_t count, struct hca_send *out)
{
	const struct mlx5_wqe_umr_repeat_block_seg *block = (const void *)c->seg;
	const struct mlx5_wqe_umr_klm_seg *klm;

	if (!count || count > c->left || count > HCA_MAX_SGE)
		return false;
	out->umr.rounds = 0;
	if (drv_load32(&block->op) == MLX5_REPEAT_BLOCK) {
		uint32_t repeated = drv_load32(&block->reserved) & 0xffff;

		out->umr.rounds = drv_load32(&block->repeat_count);
		if (!take(c, false, sizeof(*block)) || !out->umr.rounds || repeated > count - 1)
			return false;
		count = repeated;
	}
	for (uint32_t i = 0; i < count; i++) {
		uint32_t len, key;

		klm = take(c, false, sizeof(*klm));
		if (!klm)
			return false;
		len = drv_load32(&klm->byte_count);
		key = drv_load_key(&klm->mkey);
		if (!key)
			break; /* padding up to the block */
		/* In a repeat entry the upper half of this word is the stride. */
		add_piece(out, drv_load64(&klm->address), len, key);
	}
	return true;
}

static bool take_bsf(const struct hca_qp *qp, const uint8_t *bsf, struct hca_umr *out)
{
	struct mlx5_sig_bsf sig;
	struct mlx5_crypto_bsf crypto;

	switch (bsf[0] & MLX5_BSF_TYPE_MASK) {
	case MLX5_BSF_TYPE_SIG:
		memcpy(&sig, bsf, sizeof(sig));
		out->mask |= HCA_UMR_SIGNATURE;
		return mlx5_sig_bsf_decode(&sig, &out->sig);
	case MLX5_BSF_TYPE_CRYPTO:
		memcpy(&crypto, bsf, sizeof(crypto));
		out->mask |= HCA_UMR_CRYPTO;
		return mlx5_crypto_bsf_decode(&crypto, qp->ctx->adapter->model->crypto,
					      &out->crypto);
	default:
		return false;
	}
}

/* Transforms of the key's bytes between its memory and the wire. */
static bool take_bsfs(const struct hca_qp *qp, struct cursor *c, uint32_t words,
		      struct hca_send *out)
{
	for (uint32_t units = MLX5_BLOCK_SIZE / MLX5_DS; words; words -= units) {
		const void *bsf = take(c, false, MLX5_BLOCK_SIZE);
		uint8_t copy[MLX5_BLOCK_SIZE];

		if (!bsf || words < units)
			return false;
		memcpy(copy, bsf, sizeof(copy));
		if (!take_bsf(qp, copy, &out->umr))
			return false;
	}
	return true;
}

static bool take_mkey(const struct hca_qp *qp, struct cursor *c,
		      const struct mlx5_wqe_umr_ctrl_seg *umr,
		      const struct mlx5_wqe_mkey_context_seg *mkey, struct hca_send *out)
{
	const uint64_t rights = MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_LOCAL_WRITE |
				MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_REMOTE_READ |
				MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_REMOTE_WRITE |
				MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_ATOMIC;
	uint32_t both = drv_load32(&umr->klm_octowords), words = both >> 16, bsfs = both & 0xffff;
	struct cursor layout;
	uint64_t mask = drv_load64(&umr->mkey_mask);

	out->op = HCA_OP_UMR;
	out->umr = (struct hca_umr){
		.key = out->imm,
		.tag = drv_load32(&mkey->qpn_mkey) & 0xff,
		.access = window_access(mkey->access_flags),
		.start = drv_load64(&mkey->start_addr),
		.length = drv_load64(&mkey->len),
		.free = mask & MLX5_WQE_UMR_CTRL_MKEY_MASK_FREE &&
			mkey->free & MLX5_WQE_MKEY_CONTEXT_FREE,
		.mask = (mask & MLX5_WQE_UMR_CTRL_MKEY_MASK_MKEY ? HCA_UMR_TAG : 0) |
			(mask & rights ? HCA_UMR_ACCESS : 0) |
			(mask & MLX5_WQE_UMR_CTRL_MKEY_MASK_LEN ? HCA_UMR_LENGTH : 0) |
			(mask & MLX5_WQE_UMR_CTRL_MKEY_MASK_START_ADDR ? HCA_UMR_START : 0) |
			(mask & MLX5_WQE_UMR_CTRL_MKEY_MASK_BSF_ENABLE ? HCA_UMR_TRANSFORMS : 0) |
			(words ? HCA_UMR_LAYOUT : 0),
		.transforms = drv_load32(&mkey->flags_pd) & MLX5_MKEY_BSF_ENABLE,
	};
	if (!words && !bsfs)
		return true;
	layout = *c;
	if (!(umr->flags & MLX5_WQE_UMR_CTRL_FLAG_INLINE) || words > c->left ||
	    (words && !take_layout(&layout, words, out)))
		return false;
	advance(c, false, words * MLX5_DS); /* the list may end with padding */
	out->length = 0;                    /* no data is sent */
	return take_bsfs(qp, c, bsfs, out);
}

static bool take_set_psv(struct cursor c, struct hca_send *out)
{
	const struct mlx5_set_psv_seg *seg = take(&c, false, sizeof(*seg));

	if (!seg)
		return false;
	out->psv = (struct hca_psv_op){
		.count = 1,
		.index = { drv_load32(&seg->index) & MLX5_QPN_MASK },
		.syndrome = drv_load32(&seg->syndrome) >> 16,
		.value = drv_load64(&seg->value),
	};
	return true;
}

static bool take_get_psv(struct cursor c, struct hca_send *out)
{
	const struct mlx5_get_psv_head *head = take(&c, false, sizeof(*head));
	const struct mlx5_get_psv_to *to = head ? take(&c, false, sizeof(*to)) : NULL;
	const struct mlx5_get_psv_list *list = to ? take(&c, false, sizeof(*list)) : NULL;

	if (!list)
		return false;
	out->psv = (struct hca_psv_op){ .count = drv_load32(&to->count) & 0xff };
	for (int i = 0; i < HCA_PSV_MOST; i++)
		out->psv.index[i] = drv_load32(&list->index[i]) & MLX5_QPN_MASK;
	add_piece(out, drv_load64(&to->va), out->psv.count * HCA_PSV_BYTES, drv_load_key(&to->key));
	out->length = 0;
	return out->psv.count && out->psv.count <= HCA_PSV_MOST;
}

/* Input and output, then the place for the results if the program wants them. */
static bool take_mmo(struct cursor c, struct hca_send *out)
{
	const struct mlx5_wqe_mmo_seg *meta = take(&c, false, sizeof(*meta));
	uint32_t key;

	if (!meta || c.left != 2 || !take_data(&c, false, out) || out->sge_count != 2)
		return false;
	key = drv_load_key(&meta->local_key);
	if (key)
		add_piece(out, drv_load64(&meta->local_address), 0, key);
	return true;
}

/*
 * A window is bound or invalidated by rewriting its mkey: out->imm is the key, mkey_mask says what
 * changes. A type 2 window is tied to a QP, a type 1 window is not.
 */
static __attribute__((noinline)) bool take_umr(const struct hca_qp *qp, struct cursor c,
					       struct hca_send *out)
{
	const struct mlx5_wqe_umr_ctrl_seg *umr = take(&c, false, sizeof(*umr));
	const struct mlx5_wqe_mkey_context_seg *mkey = umr ? take(&c, false, sizeof(*mkey)) : NULL;
	const struct mlx5_wqe_umr_klm_seg *klm;
	struct hca_bind *bind = &out->bind;
	uint64_t mask;

	if (!mkey)
		return false;
	/*
	 * A window's WQE has a translation offset, which is not used; an indirect key's has none.
	 */
	if (!(umr->flags & MLX5_WQE_UMR_CTRL_FLAG_TRNSLATION_OFFSET))
		return take_mkey(qp, &c, umr, mkey, out);
	mask = drv_load64(&umr->mkey_mask);
	if (!(mask & MLX5_WQE_UMR_CTRL_MKEY_MASK_FREE))
		return false;
	bind->type2 = mask & MLX5_WQE_UMR_CTRL_MKEY_MASK_QPN;
	bind->mw_key = out->imm;
	bind->new_key = (out->imm & ~0xffu) | (drv_load32(&mkey->qpn_mkey) & 0xff);
	bind->access = 0;
	bind->addr = 0;
	bind->len = 0;
	bind->mr_key = 0;
	out->op = HCA_OP_BIND_MW;
	if (mkey->free & MLX5_WQE_MKEY_CONTEXT_FREE) {
		if (bind->type2)
			out->op = HCA_OP_LOCAL_INV;
		return true;
	}
	if (!(umr->flags & MLX5_WQE_UMR_CTRL_FLAG_INLINE))
		return false;
	klm = take(&c, false, sizeof(*klm));
	if (!klm)
		return false;
	bind->access = window_access(mkey->access_flags);
	bind->addr = drv_load64(&klm->address);
	bind->len = drv_load64(&mkey->len);
	bind->mr_key = drv_load32(&klm->mkey);
	if (!drv_load64(&mkey->start_addr) && bind->addr)
		bind->access |= HCA_ACCESS_ZERO_BASED;
	return bind->len && bind->len <= MLX5_DATA_SEG_MAX;
}

/* A change of a tag matching list; an append has a data segment, which may say that there is no buffer. */
static bool take_tag(struct cursor c, struct hca_send *out)
{
	const struct mlx5_wqe_tm_seg *seg = take(&c, false, sizeof(*seg));
	const struct mlx5_wqe_data_seg *data;
	uint32_t head, key, count;

	if (!seg)
		return false;
	head = drv_load32(seg); /* opcode, flags, index */
	out->tag = (struct hca_tag_op){
		.signaled = head & MLX5_TM_CQE_REQ << 16,
		.sync = head & MLX5_TM_HANDLED << 16,
		.index = head & MLX5_TM_INDEX_MASK,
		.handled = drv_load32(&seg->rsvd0),
	};
	switch (head >> (24 + MLX5_TM_OP_SHIFT)) {
	case MLX5_TM_OP_NOP:
		out->tag.change = HCA_TAG_SYNC;
		return true;
	case MLX5_TM_OP_REMOVE:
		out->tag.change = HCA_TAG_REMOVE;
		return true;
	case MLX5_TM_OP_APPEND:
		break;
	default:
		return false;
	}
	out->tag.change = HCA_TAG_APPEND;
	out->tag.tag = drv_load64(&seg->append_tag);
	out->tag.mask = drv_load64(&seg->append_mask);
	data = take(&c, false, sizeof(*data));
	if (!data)
		return false;
	key = drv_load_key(&data->lkey);
	count = drv_load32(&data->byte_count);
	if (key != DRV_INVALID_LKEY)
		add_piece(out, drv_load64(&data->addr), count ? count : MLX5_DATA_SEG_MAX, key);
	out->length = 0; /* no data is sent */
	return true;
}

/* The segments behind the control segment of a WQE of ds units. */
ALWAYS_INLINE struct cursor behind_control(const struct hca_qp *qp, uint32_t index, uint32_t ds)
{
	const uint8_t *ring = qp->sq.buf;
	size_t slot = index & (qp->sq.size - 1);

	return (struct cursor){
		.seg = ring + (slot << MLX5_SEND_WQE_SHIFT) + sizeof(struct mlx5_wqe_ctrl_seg),
		.ring = ring,
		.end = ring + ((size_t)qp->sq.size << MLX5_SEND_WQE_SHIFT),
		.left = ds - 1,
	};
}

static __attribute__((cold, noinline)) void bad_segments(const struct hca_qp *qp, uint32_t index,
							 uint32_t ds, struct hca_send *out)
{
	bad(qp, index, out, "too few 16-byte units for its segments:", ds, ds + 1);
}

/* Copies segments that wrap around the end of the ring; a WQE has at most 63 units. */
static void join(struct cursor *c, uint8_t *to)
{
	size_t bytes = (size_t)c->left * MLX5_DS, room = (size_t)(c->end - c->seg);

	_Static_assert(MLX5_DS_MASK * MLX5_DS <= HCA_SEND_ENTRY_MAX, "room for every WQE");
	if (room > bytes)
		room = bytes;
	memcpy(to, c->seg, room);
	memcpy(to + room, c->ring, bytes - room);
	c->seg = to;
}

/* WQEs of other types than RC, and WQEs that wrap around. */
static __attribute__((noinline)) void take_any(const struct hca_qp *qp, uint32_t index, uint32_t ds,
					       uint8_t segs, struct hca_send *out)
{
	struct cursor c = behind_control(qp, index, ds);
	bool straight = (index & (qp->sq.size - 1)) + mlx5_blocks(ds) <= qp->sq.size;

	if (unlikely(segs & SEG_WHOLE) && !straight) {
		join(&c, out->joined);
		straight = true;
	}
	if (!(likely(straight) ? take_segments(qp, c, true, segs, out)
			       : take_segments(qp, c, false, segs, out)))
		bad_segments(qp, index, ds, out);
}

/* A masked atomic, whose modifier is the size of its operands. */
static void take_extended(const struct hca_qp *qp, uint32_t index, uint32_t ds, uint32_t op_word,
			  struct hca_send *out)
{
	uint32_t modifier = op_word >> 24;

	if (modifier != MLX5_ATOMIC_OPMOD_4 && modifier != MLX5_ATOMIC_OPMOD_8) {
		bad(qp, index, out, "modifier (operand size) of a masked atomic", modifier,
		    MLX5_ATOMIC_OPMOD_8);
		return;
	}
	out->masked = (struct hca_atomic){
		.add = out->op == HCA_OP_MASKED_FETCH_ADD,
		.size = modifier == MLX5_ATOMIC_OPMOD_4 ? 4 : 8,
	};
	take_any(qp, index, ds, SEG_RADDR | SEG_MASKED, out);
}

/* Operations other than messages, RDMA and unmasked atomics. */
static __attribute__((noinline)) void take_other(const struct hca_qp *qp, uint32_t index,
						 uint32_t ds, uint32_t op_word,
						 struct hca_send *out)
{
	struct cursor c = behind_control(qp, index, ds);
	uint32_t opcode = op_word & 0xff;

	if (opcode == MLX5_OPCODE_MMO &&
	    !mlx5_mmo_decode(qp->ctx->adapter->model, op_word >> 24, out->imm, &out->mmo))
		bad(qp, index, out,
		    "a memory-to-memory operation that the model does not have:", op_word >> 24,
		    MLX5_MMO_DMA);
	else if (opcode == MLX5_OPCODE_MMO && !take_mmo(c, out))
		bad(qp, index, out, "length of a memory-to-memory operation", ds,
		    sizeof(struct mlx5_mmo_wqe) / MLX5_DS);
	if (opcode == MLX5_OPCODE_ATOMIC_MASKED_CS || opcode == MLX5_OPCODE_ATOMIC_MASKED_FA)
		take_extended(qp, index, ds, op_word, out);
	if (opcode == MLX5_OPCODE_SET_PSV && !take_set_psv(c, out))
		bad(qp, index, out, "setting of a signature context of length", ds, 2);
	if (opcode == MLX5_OPCODE_GET_PSV && !take_get_psv(c, out))
		bad(qp, index, out, "reading of signature contexts of length", ds, 4);
	if (opcode == MLX5_OPCODE_ACCESS_ASO && !mlx5_decode_aso(qp, index, ds, op_word >> 24, out))
		bad(qp, index, out, "length of an access (or another modifier or mask mode)", ds,
		    8);
	if (opcode == MLX5_OPCODE_TAG_MATCHING && !take_tag(c, out))
		bad(qp, index, out, "change of a tag list of length", ds,
		    1 + sizeof(struct mlx5_wqe_tm_seg) / MLX5_DS);
	if (opcode == MLX5_OPCODE_UMR && !take_umr(qp, c, out))
		bad(qp, index, out, "key update of length", ds,
		    sizeof(struct mlx5_bind_wqe) / MLX5_DS);
}

/* Rare cases are tail calls, so that a common WQE is read without a call. */
void mlx5_sq_decode(const struct hca_qp *qp, uint32_t index, struct hca_send *out)
{
	uint32_t size = qp->sq.size, slot = index & (size - 1);
	const struct mlx5_wqe_ctrl_seg *ctrl;
	uint32_t op_word, qpn_word, flags, opcode, ds;
	struct cursor c = { .end = NULL }; /* not used by a straight WQE */
	uint8_t segs;

	ctrl = (const void *)((const uint8_t *)qp->sq.buf + ((size_t)slot << MLX5_SEND_WQE_SHIFT));
	op_word = drv_load32(&ctrl->opmod_idx_opcode);
	qpn_word = drv_load32(&ctrl->qpn_ds);
	flags = drv_load32(&ctrl->signature); /* with the DC stream and fm_ce_se */
	opcode = op_word & 0xff;
	ds = qpn_word & MLX5_DS_MASK;
	c.seg = (const uint8_t *)(ctrl + 1);
	c.left = ds - 1;

	out->bad = false;
	out->counter = index;
	out->blocks = mlx5_blocks(ds);
	out->signaled = flags & MLX5_WQE_CTRL_CQ_UPDATE;
	out->solicited = flags & MLX5_WQE_CTRL_SOLICITED;
	out->fence = (uint8_t)flags >= (MLX5_FENCE_SMALL + 1) << MLX5_FENCE_SHIFT;
	out->dc_stream = flags >> 8;
	out->length = 0;
	out->sge_count = 0;
	if (unlikely((uint16_t)(op_word >> 8) != (uint16_t)index || qpn_word >> 8 != qp->qpn) ||
	    unlikely(mlx5_blocks(ds) - 1 >= size) || /* 0 units, or more than the ring has */
	    unlikely(opcode >= array_size(opcodes) || !(opcodes[opcode].types >> qp->type & 1))) {
		bad_control(qp, index, op_word, qpn_word, out);
		return;
	}

	out->op = opcodes[opcode].op;
	segs = opcodes[opcode].segs;
	out->imm = unlikely(segs & SEG_KEY) ? drv_load32(&ctrl->imm)
					    : __atomic_load_n(&ctrl->imm, __ATOMIC_RELAXED);
	if (unlikely(segs & SEG_OTHER))
		take_other(qp, index, ds, op_word, out);
	else if (qp->type != HCA_QP_RC || unlikely(slot + mlx5_blocks(ds) > size))
		take_any(qp, index, ds, segs, out);
	else if (unlikely(!take_message(&c, true, segs, out)))
		bad_segments(qp, index, ds, out);
}
