/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What lies in work queue entries and has no public name, and their limits. The public segments are
 * in <infiniband/mlx4dv.h>.
 *
 * A send entry fills one slot of a power of two bytes: a control segment, one for the transport or
 * the operation (address vector, remote address, operands), then data; all in units of 16 bytes.
 * Data inside an entry comes in chunks with a length word before each, none of which may cross a
 * multiple of 64 bytes.
 *
 * The top bit of an entry's first word is its owner: clear in the slots' first use, set in the
 * second, and so on in turns. The adapter has no other way to know what was posted.
 */
#ifndef MLX4_WQE_H
#define MLX4_WQE_H

#include "mlx4/public.h"

#define MLX4_DS         16u /* bytes of the unit that control segments count in */
#define MLX4_DS_MASK    0x3fu
#define MLX4_INDEX_MASK 0xffffu
#define MLX4_QPN_MASK   0xffffffu

#define MLX4_OWNER       (1u << 31)
#define MLX4_OPCODE_MASK 0x1fu

/* The unit's count has six bits: the last unit of a slot of 1024 bytes is out of reach. */
#define MLX4_SQ_ENTRY_MAX  (MLX4_DS_MASK * MLX4_DS)
#define MLX4_SQ_SHIFT_MIN  6
#define MLX4_SQ_SHIFT_MAX  10
#define MLX4_RQ_MAX_SGE    32u
#define MLX4_RQ_INLINE_MAX (MLX4_RQ_MAX_SGE * MLX4_DS)

/* The longest piece that a data segment can name; it is written as 0. */
#define MLX4_DATA_SEG_MAX (1u << 31)

#define MLX4_INLINE_LENGTH 0x7fffffffu

/* Of a raw packet's control segment, in the word of fence and length: the tag is above. */
#define MLX4_INSERT_VLAN (1u << 14)

/* Of the same, beside MLX4_WQE_CTRL_*. */
#define MLX4_FORCE_LOOPBACK 1u

/* A completion of a frame, beyond what has a public name. */
#define MLX4_CQE_VLAN        (1u << 29) /* in vlan_my_qpn: a tag was stripped */
#define MLX4_CQE_STATUS_FRAG (1u << 23)
#define MLX4_CQE_STATUS_IPV6 (1u << 24)
#define MLX4_CQE_STATUS_OPTS (1u << 25)
#define MLX4_CQE_STATUS_TCP  (1u << 26)
#define MLX4_CQE_STATUS_UDP  (1u << 27)

/* What the first word of every 64 bytes of a free entry, but the first, is filled with. */
#define MLX4_STAMP 0xffffffffu

/* Fence and length share a byte; the rest of the word is the QP's in a BlueFlame write. */
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
