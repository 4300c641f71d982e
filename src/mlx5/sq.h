/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Segments of send WQEs as the driver writes them, for posting lists (send.c) and building chains
 * (wr.c). The caller holds the lock of the adapter's QP.
 */
#ifndef MLX5_SQ_H
#define MLX5_SQ_H

#include <errno.h>
#include <string.h>

#include "hca/transport/qp.h"
#include "hca/transport/sq.h"
#include "mlx5/objects.h"
#include "util/explain.h"

static inline bool mlx5_sq_full(const struct mlx5_sq *sq, uint32_t more)
{
	/* [M4] pairs with mlx5_complete_send() */
	return sq->head + more - atomic_load_explicit(&sq->tail, memory_order_acquire) >=
	       sq->max_post;
}

static inline struct mlx5_wqe_ctrl_seg *mlx5_sq_entry(const struct mlx5_sq *sq)
{
	return (void *)(sq->buf + ((size_t)(sq->post & sq->mask) << MLX5_SEND_WQE_SHIFT));
}

/* A segment may end at the ring's end, but not cross it. */
static inline uint8_t *mlx5_sq_wrap(const struct mlx5_sq *sq, uint8_t *seg)
{
	return unlikely(seg == sq->end) ? sq->buf : seg;
}

/* fm_ce_se of a request's flags and the queue's state. */
static inline uint8_t mlx5_ctrl_flags(const struct mlx5_sq *sq, unsigned int send_flags)
{
	uint8_t flags = sq->signal_bits;

	flags |= send_flags & IBV_SEND_FENCE ? MLX5_WQE_CTRL_FENCE : sq->fence_next;
	if (send_flags & IBV_SEND_SIGNALED)
		flags |= MLX5_WQE_CTRL_CQ_UPDATE;
	if (send_flags & IBV_SEND_SOLICITED)
		flags |= MLX5_WQE_CTRL_SOLICITED;
	return flags;
}

static inline uint8_t *mlx5_put_raddr(uint8_t *seg, uint64_t addr, uint32_t rkey)
{
	struct mlx5_wqe_raddr_seg *to = (void *)seg;

	to->raddr = htobe64(addr);
	to->rkey = htobe32(rkey);
	to->reserved = 0;
	return seg + sizeof(*to);
}

static inline uint8_t *mlx5_put_atomic(uint8_t *seg, uint64_t swap_add, uint64_t compare)
{
	struct mlx5_wqe_atomic_seg *to = (void *)seg;

	to->swap_add = htobe64(swap_add);
	to->compare = htobe64(compare);
	return seg + sizeof(*to);
}

static inline uint8_t *mlx5_put_xrc(uint8_t *seg, uint32_t srqn)
{
	struct mlx5_wqe_xrc_seg *to = (void *)seg;

	to->srqn = htobe32(srqn);
	return seg + sizeof(*to);
}

static inline uint8_t *mlx5_put_address(uint8_t *seg, const struct vb_ah *ah, uint32_t qpn,
					uint32_t qkey)
{
	struct mlx5_wqe_av *to = (void *)seg;

	memcpy(to, ah->driver, sizeof(*to));
	to->dqp_dct = htobe32(qpn | MLX5_EXTENDED_UD_AV);
	to->key.qkey.qkey = htobe32(qkey);
	return seg + sizeof(*to);
}

static inline void mlx5_put_dc_address(uint8_t *seg, const struct vb_ah *ah, uint32_t dctn,
				       uint64_t key)
{
	struct mlx5_wqe_av *to = (void *)seg;

	memcpy(to, ah->driver, sizeof(*to));
	to->dqp_dct = htobe32(dctn | MLX5_EXTENDED_UD_AV);
	to->key.dc_key = htobe64(key);
}

#define MLX5_ETH_FIXED offsetof(struct mlx5_wqe_eth_seg, inline_hdr_start)
#define MLX5_ETH_SUMS  (MLX5_ETH_WQE_L3_CSUM | MLX5_ETH_WQE_L4_CSUM)

/* Units of an Ethernet segment with `header` bytes of the frame. */
static inline uint32_t mlx5_ethernet_ds(uint32_t header)
{
	return (MLX5_ETH_FIXED + header + MLX5_DS - 1) / MLX5_DS;
}

/* Returns the place of the frame's bytes. */
static inline uint8_t *mlx5_put_ethernet(uint8_t *seg, uint8_t checks, uint16_t mss,
					 uint16_t header)
{
	struct mlx5_wqe_eth_seg *to = (void *)seg;

	to->rsvd0 = 0;
	to->cs_flags = checks;
	to->rsvd1 = 0;
	to->mss = htobe16(mss);
	to->rsvd2 = 0;
	to->inline_hdr_sz = htobe16(header);
	to->inline_hdr_start[0] = to->inline_hdr_start[1] = 0;
	return to->inline_hdr_start;
}

static inline uint8_t *mlx5_sq_skip(const struct mlx5_sq *sq, uint8_t *seg, uint32_t ds)
{
	seg += ds * MLX5_DS;
	return unlikely(seg >= sq->end) ? seg - (sq->end - sq->buf) : seg;
}

/* 0, or a positive errno. */
static inline int mlx5_check_tso(const struct mlx5_qp *qp, uint16_t header)
{
	if (likely(header >= 14 && header <= qp->sq.max_tso_header))
		return 0;
	return -explain(EINVAL, "QP 0x%06x: %u bytes of TSO header; expected 14 to %u",
			qp->base.qpn, header, qp->sq.max_tso_header);
}

/* A length of 2 GiB is written as 0; longer ones are refused before. */
static inline void mlx5_put_data(uint8_t *seg, uint64_t addr, uint32_t length, uint32_t lkey)
{
	struct mlx5_wqe_data_seg *to = (void *)seg;

	to->byte_count = htobe32(length & ~MLX5_DATA_SEG_MAX);
	to->lkey = htobe32(lkey);
	to->addr = htobe64(addr);
}

/* Copies into the ring, with wrap-around; returns the next byte's place. */
static inline uint8_t *mlx5_put_bytes(const struct mlx5_sq *sq, uint8_t *to, const void *from,
				      size_t count)
{
	size_t room = sq->end - to;

	if (unlikely(count >= room)) {
		memcpy(to, from, room);
		from = (const uint8_t *)from + room;
		count -= room;
		to = sq->buf;
	}
	memcpy(to, from, count);
	return to + count;
}

/* Units of an inline segment with this much data; 0 for no data. */
static inline uint32_t mlx5_inline_ds(uint32_t length)
{
	if (unlikely(!length))
		return 0;
	return (length + sizeof(struct mlx5_wqe_inl_data_seg) + MLX5_DS - 1) / MLX5_DS;
}

static inline void mlx5_put_ctrl(struct mlx5_wqe_ctrl_seg *ctrl, uint32_t post, uint8_t opcode,
				 uint8_t flags, uint32_t imm)
{
	uint32_t *word = (uint32_t *)ctrl;

	word[0] = htobe32((post & MLX5_INDEX_MASK) << 8 | opcode);
	word[2] = htobe32(flags);
	word[3] = imm;
}

static inline void mlx5_put_ctrl_length(struct mlx5_wqe_ctrl_seg *ctrl, uint32_t qpn, uint32_t ds)
{
	ctrl->qpn_ds = htobe32(qpn << 8 | ds);
}

/* Doorbell: hands over all WQEs written so far. */
static inline void mlx5_sq_ring(struct mlx5_qp *qp)
{
	drv_record_store(&qp->db[MLX5_SND_DBR], qp->sq.post & MLX5_INDEX_MASK);
	hca_sq_doorbell(qp->base.vb.hca, qp->sq.post);
}

#endif
