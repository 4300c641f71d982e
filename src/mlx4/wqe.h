/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parts of WQEs without a public name, and limits. The public segments are in
 * <infiniband/mlx4dv.h>.
 *
 * A send WQE fills one slot of a power of two bytes: a control segment, one for the transport or
 * the operation (address vector, remote address, operands), then data; all in units of 16 bytes.
 * Inline data comes in chunks with a length word before each, none of which may cross a multiple of
 * 64 bytes.
 *
 * The top bit of a WQE's first word is its owner: clear in the first lap, set in the second, and so
 * on. The format has no producer index for the send queue.
 */
#ifndef MLX4_WQE_H
#define MLX4_WQE_H

#include "mlx4/public.h"

#define MLX4_DS         16u /* bytes of the unit of a WQE's length */
#define MLX4_DS_MASK    0x3fu
#define MLX4_INDEX_MASK 0xffffu
#define MLX4_QPN_MASK   0xffffffu

#define MLX4_OWNER       (1u << 31)
#define MLX4_OPCODE_MASK 0x1fu

/* The length has six bits: the last unit of a slot of 1024 bytes cannot be used. */
#define MLX4_SQ_ENTRY_MAX  (MLX4_DS_MASK * MLX4_DS)
#define MLX4_SQ_SHIFT_MIN  6
#define MLX4_SQ_SHIFT_MAX  10
#define MLX4_RQ_MAX_SGE    32u
#define MLX4_RQ_INLINE_MAX (MLX4_RQ_MAX_SGE * MLX4_DS)

/* Bytes of the longest data segment; it is written as 0. */
#define MLX4_DATA_SEG_MAX (1u << 31)

#define MLX4_INLINE_LENGTH 0x7fffffffu

/*
 * Of a raw packet's control segment, in the word of fence and length; the VLAN tag is in its upper
 * half.
 */
#define MLX4_INSERT_VLAN (1u << 14)

/* Bits of srcrb_flags without a public name. */
#define MLX4_FORCE_LOOPBACK 1u

/* Bits of a received frame's CQE without a public name. */
#define MLX4_CQE_VLAN        (1u << 29) /* in vlan_my_qpn: a VLAN tag was stripped */
#define MLX4_CQE_STATUS_FRAG (1u << 23)
#define MLX4_CQE_STATUS_IPV6 (1u << 24)
#define MLX4_CQE_STATUS_OPTS (1u << 25)
#define MLX4_CQE_STATUS_TCP  (1u << 26)
#define MLX4_CQE_STATUS_UDP  (1u << 27)

/* The first word of every 64 bytes of a free slot, except the first. */
#define MLX4_STAMP 0xffffffffu

/* Fence and length share a byte; in a BlueFlame write the rest of the word is the QP number. */
_Static_assert(offsetof(struct mlx4_wqe_ctrl_seg, fence_size) == 7, "layout");
_Static_assert(sizeof(struct mlx4_wqe_ctrl_seg) == 16, "layout");
_Static_assert(sizeof(struct mlx4_wqe_datagram_seg) == 48, "layout");
_Static_assert(sizeof(struct mlx4_wqe_data_seg) == 16, "layout");
_Static_assert(sizeof(struct mlx4_wqe_raddr_seg) == 16, "layout");
_Static_assert(sizeof(struct mlx4_wqe_atomic_seg) == 16, "layout");
_Static_assert(sizeof(struct mlx4_wqe_bind_seg) == 32, "layout");
_Static_assert(sizeof(struct mlx4_wqe_local_inval_seg) == 32, "layout");
_Static_assert(sizeof(struct mlx4_wqe_srq_next_seg) == 16, "layout");
_Static_assert(sizeof(struct mlx4_cqe) == 32 && sizeof(struct mlx4_err_cqe) == 32, "layout");

#endif
