/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The adapter reads send WQEs with the QP's lock held, but a program may write to the ring
 * meanwhile: each word is read once and checked before it is used, and no pointer leaves the WQE's
 * slot.
 */
#include "mlx4/decode.h"

#include <endian.h>
#include <string.h>

#include "driver/recv_wqe.h"
#include "hca/device/access.h"
#include "hca/transport/qp.h"
#include "mlx4/av.h"
#include "mlx4/wqe.h"
#include "util/explain.h"

#define ON(type)  (1u << HCA_QP_##type)
#define RELIABLE  (ON(RC) | ON(XRC_SEND))
#define CONNECTED (RELIABLE | ON(UC))

enum seg {
	SEG_RADDR = 1 << 0,
	SEG_ATOMIC = 1 << 1,
	SEG_LAND = 1 << 2,  /* data segments are written to: no inline data */
	SEG_OTHER = 1 << 3, /* the operation's own segment, no data */
	SEG_LSO = 1 << 4,   /* an LSO segment with the frames' headers */
	SEG_MASKED = 1 << 5,
};

/* The operation of each opcode, the QP types that have it, and its segments. */
static const struct {
	uint8_t op;
	uint8_t segs;
	uint16_t types;
} opcodes[MLX4_OPCODE_MASK + 1] = {
	[MLX4_OPCODE_NOP] = { HCA_OP_NOP, SEG_OTHER, CONNECTED | ON(UD) | ON(RAW) },
	[MLX4_OPCODE_SEND_INVAL] = { HCA_OP_SEND_INV, 0, RELIABLE },
	[MLX4_OPCODE_RDMA_WRITE] = { HCA_OP_WRITE, SEG_RADDR, CONNECTED },
	[MLX4_OPCODE_RDMA_WRITE_IMM] = { HCA_OP_WRITE_IMM, SEG_RADDR, CONNECTED },
	[MLX4_OPCODE_SEND] = { HCA_OP_SEND, 0, CONNECTED | ON(UD) | ON(RAW) },
	[MLX4_OPCODE_SEND_IMM] = { HCA_OP_SEND_IMM, 0, CONNECTED | ON(UD) },
	[MLX4_OPCODE_LSO] = { HCA_OP_TSO, SEG_LSO, ON(RAW) },
	[MLX4_OPCODE_RDMA_READ] = { HCA_OP_READ, SEG_RADDR | SEG_LAND, RELIABLE },
	[MLX4_OPCODE_ATOMIC_CS] = { HCA_OP_CMP_SWAP, SEG_RADDR | SEG_ATOMIC | SEG_LAND, RELIABLE },
	[MLX4_OPCODE_ATOMIC_FA] = { HCA_OP_FETCH_ADD, SEG_RADDR | SEG_ATOMIC | SEG_LAND, RELIABLE },
	[MLX4_OPCODE_MASKED_ATOMIC_CS] = { HCA_OP_MASKED_CMP_SWAP,
					   SEG_RADDR | SEG_MASKED | SEG_LAND, RELIABLE },
	[MLX4_OPCODE_MASKED_ATOMIC_FA] = { HCA_OP_MASKED_FETCH_ADD,
					   SEG_RADDR | SEG_MASKED | SEG_LAND, RELIABLE },
	[MLX4_OPCODE_BIND_MW] = { HCA_OP_BIND_MW, SEG_OTHER, CONNECTED },
	[MLX4_OPCODE_LOCAL_INVAL] = { HCA_OP_LOCAL_INV, SEG_OTHER, CONNECTED },
};

/* The part of a WQE that has not been read. */
struct cursor {
	const uint8_t *at;
	uint32_t left; /* in units of 16 bytes */
};

static const void *take(struct cursor *c, uint32_t bytes)
{
	const void *seg = c->at;

	if (unlikely(c->left < bytes / MLX4_DS))
		return NULL;
	c->left -= bytes / MLX4_DS;
	c->at += bytes;
	return seg;
}

static __attribute__((cold, noinline)) void
bad(const struct hca_qp *qp, uint32_t index, struct hca_send *out, const char *what, uint32_t value)
{
	out->bad = true;
	out->bad_status = HCA_LOC_QP_OP_ERR;
	out->bad_vendor = MLX4_VENDOR_BAD_ENTRY;
	explain_note("QP 0x%06x: send entry %u (slot %u of %u) %s (0x%x)", qp->qpn,
		     index & MLX4_INDEX_MASK, index & (qp->sq.size - 1), qp->sq.size, what, value);
}

/* Inline data. NULL, or why it is wrong. */
static const char *take_inline(struct cursor *c, uint32_t len, uint8_t segs, struct hca_send *out)
{
	const uint32_t head = sizeof(struct mlx4_wqe_inline_seg);
	uint32_t offset = (uintptr_t)c->at & (MLX4_INLINE_ALIGN - 1);
	const uint8_t *data = c->at + head;
	struct hca_sge *sge;

	if (unlikely(len > MLX4_INLINE_ALIGN || offset + head + len > MLX4_INLINE_ALIGN))
		return "has inline data across a multiple of 64 bytes; a chunk must end before it";
	/* An empty chunk stands for an element of length 0: it has the size of a data segment. */
	if (unlikely(!take(c, (head + len + MLX4_DS - 1) & ~(MLX4_DS - 1))))
		return "ends before its inline data does; the length in its control segment is "
		       "too small";
	if (!len)
		return NULL;
	if (unlikely(segs & SEG_LAND))
		return "has inline data where the answer is to be written; it takes data segments";
	sge = &out->sge[out->sge_count++];
	sge->addr = (uintptr_t)data;
	sge->len = len;
	sge->key = HCA_KEY_INLINE;
	out->length += len;
	return NULL;
}

/* The rest of the WQE is data segments, of at least one unit each. */
static const char *take_data(struct cursor *c, uint8_t segs, struct hca_send *out)
{
	_Static_assert(HCA_MAX_SGE >= MLX4_DS_MASK, "room for every unit of an entry");

	while (c->left) {
		const struct mlx4_wqe_data_seg *seg = (const void *)c->at;
		uint32_t count = drv_load32(&seg->byte_count);
		struct hca_sge *sge;

		if (count & MLX4_INLINE_SEG) {
			const char *wrong = take_inline(c, count & MLX4_INLINE_LENGTH, segs, out);

			if (unlikely(wrong))
				return wrong;
			continue;
		}
		sge = &out->sge[out->sge_count++];
		sge->addr = drv_load64(&seg->addr);
		sge->len = count ? count : MLX4_DATA_SEG_MAX;
		sge->key = drv_load_key(&seg->lkey);
		out->length += sge->len;
		c->at += sizeof(*seg);
		c->left--;
	}
	return NULL;
}

/* One unit; a compare and swap has its masks in another. */
static __attribute__((noinline)) bool take_masked(struct cursor *c, struct hca_send *out)
{
	const struct mlx4_wqe_atomic_seg *operands = take(c, sizeof(*operands)), *masks;

	if (!operands)
		return false;
	out->masked = (struct hca_atomic){
		.add = out->op == HCA_OP_MASKED_FETCH_ADD,
		.size = sizeof(uint64_t),
		.swap = drv_load64(&operands->swap_add),
		.compare = drv_load64(&operands->compare),
	};
	if (out->masked.add)
		return true;
	masks = take(c, sizeof(*masks));
	if (!masks)
		return false;
	out->masked.swap_mask = drv_load64(&masks->swap_add);
	out->masked.compare_mask = drv_load64(&masks->compare);
	return true;
}

static bool take_operation(struct cursor *c, uint8_t segs, struct hca_send *out)
{
	const struct mlx4_wqe_raddr_seg *raddr = take(c, sizeof(*raddr));
	const struct mlx4_wqe_atomic_seg *atomic;

	if (unlikely(!raddr))
		return false;
	out->raddr = drv_load64(&raddr->raddr);
	out->rkey = drv_load32(&raddr->rkey);
	if (likely(!(segs & (SEG_ATOMIC | SEG_MASKED))))
		return true;
	if (segs & SEG_MASKED)
		return take_masked(c, out);
	atomic = take(c, sizeof(*atomic));
	if (unlikely(!atomic))
		return false;
	out->swap = drv_load64(&atomic->swap_add);
	out->compare = out->op == HCA_OP_CMP_SWAP ? drv_load64(&atomic->compare) : out->swap;
	return true;
}

static bool take_datagram(const struct hca_qp *qp, struct cursor *c, struct hca_send *out)
{
	const struct mlx4_wqe_datagram_seg *seg = take(c, sizeof(*seg));
	const struct hca_adapter *adapter = qp->ctx->adapter;
	unsigned int port;

	if (unlikely(!seg))
		return false;
	port = mlx4_av_port(seg);
	if (unlikely(!port || port > (unsigned int)adapter->port_count))
		port = 1;
	mlx4_av_decode(seg, adapter->ports[port - 1].link == HCA_LINK_ETHERNET, &out->av);
	out->dqpn = drv_load32(&seg->dqpn) & MLX4_QPN_MASK;
	out->qkey = drv_load32(&seg->qkey);
	return true;
}

/* The headers follow MSS and their length, as data in the WQE. */
static bool take_headers(struct cursor *c, struct hca_send *out)
{
	const struct mlx4_wqe_lso_seg *seg = (const void *)c->at;
	uint32_t what, len;

	if (unlikely(!c->left))
		return false;
	what = drv_load32(&seg->mss_hdr_size);
	len = what & UINT16_MAX;
	if (unlikely(!take(c, (sizeof(*seg) + len + MLX4_DS - 1) & ~(MLX4_DS - 1))))
		return false;
	out->mss = what >> 16;
	out->tso_header = (uint16_t)len;
	out->sge[out->sge_count++] = (struct hca_sge){ .addr = (uintptr_t)seg->header,
						       .len = len,
						       .key = HCA_KEY_INLINE };
	out->length += len;
	return true;
}

static uint32_t window_access(uint32_t flags1, uint32_t flags2)
{
	uint32_t access = 0;

	if (flags1 & MLX4_WQE_MW_ATOMIC)
		access |= HCA_ACCESS_REMOTE_ATOMIC;
	if (flags1 & MLX4_WQE_MW_REMOTE_WRITE)
		access |= HCA_ACCESS_REMOTE_WRITE;
	if (flags1 & MLX4_WQE_MW_REMOTE_READ)
		access |= HCA_ACCESS_REMOTE_READ;
	if (flags2 & MLX4_WQE_BIND_ZERO_BASED)
		access |= HCA_ACCESS_ZERO_BASED;
	return access;
}

/* The WQE has the window's new key; the present one differs in its low byte only. */
static bool take_bind(struct cursor *c, struct hca_send *out)
{
	const struct mlx4_wqe_bind_seg *seg = take(c, sizeof(*seg));
	uint32_t flags2;

	if (unlikely(!seg))
		return false;
	flags2 = drv_load32(&seg->flags2);
	out->bind.new_key = drv_load32(&seg->new_rkey);
	out->bind.mw_key = out->bind.new_key;
	out->bind.mr_key = drv_load_key(&seg->lkey);
	out->bind.access = window_access(drv_load32(&seg->flags1), flags2);
	out->bind.addr = drv_load64(&seg->addr);
	out->bind.len = drv_load64(&seg->length);
	out->bind.type2 = flags2 & MLX4_WQE_BIND_TYPE_2;
	return true;
}

static bool take_other(struct cursor *c, struct hca_send *out)
{
	const struct mlx4_wqe_local_inval_seg *inval;

	switch (out->op) {
	case HCA_OP_BIND_MW:
		return take_bind(c, out);
	case HCA_OP_LOCAL_INV:
		inval = take(c, sizeof(*inval));
		if (unlikely(!inval))
			return false;
		out->imm = drv_load32(&inval->mem_key);
		return true;
	default:
		return true;
	}
}

static void decode_rest(const struct hca_qp *qp, uint32_t index, struct cursor *c, uint8_t segs,
			struct hca_send *out)
{
	const uint32_t units = c->left + 1;
	const char *wrong;

	if (unlikely(segs & SEG_OTHER)) {
		if (unlikely(!take_other(c, out)))
			bad(qp, index, out, "is too short for its operation's segment", units);
		return;
	}
	if (unlikely(segs & SEG_LSO) && !take_headers(c, out)) {
		bad(qp, index, out, "is too short for the headers of its frames", units);
		return;
	}
	if (unlikely((qp->type == HCA_QP_UD && !take_datagram(qp, c, out)) ||
		     ((segs & SEG_RADDR) && !take_operation(c, segs, out)))) {
		bad(qp, index, out, "is too short for address and operands", units);
		return;
	}
	wrong = take_data(c, segs, out);
	if (unlikely(wrong))
		bad(qp, index, out, wrong, units);
}

_Static_assert(MLX4_SQ_ENTRY_MAX <= HCA_SEND_ENTRY_MAX, "room for every entry");

/*
 * WQEs of raw packet QPs may have several slots, and wrap around the ring's end. Such a WQE is
 * copied into one piece.
 */
static const void *whole_entry(const struct hca_qp *qp, const uint8_t *entry, uint32_t bytes,
			       uint8_t *joined)
{
	const uint8_t *ring = qp->sq.buf, *end = ring + ((size_t)qp->sq.size << qp->sq.slot_shift);
	uint32_t first = (uint32_t)(end - entry);

	if (likely(bytes <= first))
		return entry;
	memcpy(joined, entry, first);
	memcpy(joined + first, ring, bytes - first);
	return joined;
}

void mlx4_sq_decode(const struct hca_qp *qp, uint32_t index, struct hca_send *out)
{
	const struct mlx4_wqe_ctrl_seg *ctrl;
	uint32_t what, size, flags, opcode;
	struct cursor c;

	ctrl = (const void *)((const uint8_t *)qp->sq.buf +
			      ((size_t)(index & (qp->sq.size - 1)) << qp->sq.slot_shift));
	what = drv_load32(&ctrl->owner_opcode);
	size = drv_load32(&ctrl->bf_qpn);
	flags = drv_load32(&ctrl->srcrb_flags);
	opcode = what & MLX4_OPCODE_MASK;

	out->bad = false;
	out->op = HCA_OP_NOP;
	out->counter = index & MLX4_INDEX_MASK;
	out->blocks = 1;
	out->signaled = flags & MLX4_WQE_CTRL_CQ_UPDATE;
	out->solicited = flags & MLX4_WQE_CTRL_SOLICIT;
	out->fence = size & MLX4_WQE_CTRL_FENCE;
	out->length = 0;
	out->sge_count = 0;
	if (qp->type == HCA_QP_RAW) {
		out->offload = (flags & MLX4_WQE_CTRL_IP_HDR_CSUM ? HCA_OFFLOAD_L3 : 0) |
			       (flags & MLX4_WQE_CTRL_TCP_UDP_CSUM ? HCA_OFFLOAD_L4 : 0) |
			       (size & MLX4_INSERT_VLAN ? HCA_OFFLOAD_VLAN : 0);
		out->vlan_tci = size >> 16;
		/*
		 * srcrb_flags and imm have the frame's destination MAC if the frame may loop back
		 * to its own port.
		 */
		out->wire_only = !(flags >> 16) && !(flags & MLX4_FORCE_LOOPBACK) &&
				 !__atomic_load_n(&ctrl->imm, __ATOMIC_RELAXED);
	}
	size &= MLX4_DS_MASK;

	if (unlikely(size * MLX4_DS > 1u << qp->sq.slot_shift && qp->type == HCA_QP_RAW &&
		     size * MLX4_DS <= (size_t)qp->sq.size << qp->sq.slot_shift)) {
		out->blocks = (size * MLX4_DS + (1u << qp->sq.slot_shift) - 1) >> qp->sq.slot_shift;
		ctrl = whole_entry(qp, (const void *)ctrl, size * MLX4_DS, out->joined);
	} else if (unlikely(!size || size * MLX4_DS > 1u << qp->sq.slot_shift)) {
		bad(qp, index, out, "has a length of 0, or of more 16-byte units than its slot has",
		    size);
		return;
	}
	if (unlikely(!(opcodes[opcode].types & 1u << qp->type))) {
		bad(qp, index, out, "has an opcode that this type of QP does not know", opcode);
		return;
	}
	out->op = opcodes[opcode].op;
	out->imm = __atomic_load_n(&ctrl->imm, __ATOMIC_RELAXED);
	if (out->op == HCA_OP_SEND_INV)
		out->imm = be32toh(out->imm);
	/* srcrb_flags of an XRC request has the target's SRQ number. */
	if (qp->type == HCA_QP_XRC_SEND)
		out->xrc_srqn = flags >> 8;
	c.at = (const uint8_t *)(ctrl + 1);
	c.left = size - 1;
	decode_rest(qp, index, &c, opcodes[opcode].segs, out);
}
