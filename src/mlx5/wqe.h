/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What lies in a send entry and has no public name, and the limits of entries. The public segments
 * are in <infiniband/mlx5dv_rings.h>.
 *
 * An entry is a control segment, a segment of the transport (address vector, XRC target), one of
 * the operation (remote address, atomic operands), then data; all in units of 16 bytes. It starts
 * at a block of 64 bytes and may go on at the ring's start when it meets the ring's end.
 */
#ifndef MLX5_WQE_H
#define MLX5_WQE_H

#include <errno.h>

#include "driver/recv_wqe.h"
#include "mlx5/public.h"

#define MLX5_DS         16u /* bytes of the unit that control segments count in */
#define MLX5_DS_MASK    0x3fu
#define MLX5_BLOCK_SIZE 64u
#define MLX5_INDEX_MASK 0xffffu
#define MLX5_QPN_MASK   0xffffffu

/* The longest entries that a ConnectX takes. */
#define MLX5_SQ_ENTRY_MAX 1024u
#define MLX5_RQ_ENTRY_MAX 512u
/* The longest send queue. */
#define MLX5_SQ_BLOCKS_MAX 32768u

/* The longest piece that a data segment can name; it is written as 0. */
#define MLX5_DATA_SEG_MAX (1u << 31)

/* fm_ce_se of a control segment: fence mode in bits 7:5, completion mode in bits 3:2. */
#define MLX5_FENCE_SHIFT 5
#define MLX5_FENCE_SMALL 1

/* The Ethernet segment, beyond what has a public name. */
#define MLX5_ETH_INNER_L3    (1u << 4)
#define MLX5_ETH_INNER_L4    (1u << 5)
#define MLX5_ETH_MSS_MASK    0x3fffu
#define MLX5_ETH_INSERT_VLAN 0x8000u /* in inline_hdr_sz */
#define MLX5_ETH_L2_INLINE   18u     /* what a ConnectX-4 wants inline */

/* Bits of byte_cnt when a receive queue is striding. */
#define MLX5_STRIDES_SHIFT 16
#define MLX5_STRIDES_MASK  0x7fffu
#define MLX5_STRIDE_FILLER (1u << 31)

struct mlx5_wqe_xrc_seg {
	__be32 srqn;
	uint8_t reserved[12];
};

/* An entry that copies memory: opcode MMO with this modifier. */
#define MLX5_MMO_DMA 1u

struct mlx5_mmo_wqe {
	struct mlx5_wqe_ctrl_seg ctrl;
	struct {
		__be32 control;
		__be32 local_key;
		__be64 local_address;
	} meta;
	struct mlx5_wqe_data_seg from, to;
};

/* What is in an element's place for the key when lanes follow. */
#define MLX5_REPEAT_BLOCK 0x400u

/* The whole of an entry that binds a window; an unbinding one ends before klm. */
struct mlx5_bind_wqe {
	struct mlx5_wqe_ctrl_seg ctrl;
	struct mlx5_wqe_umr_ctrl_seg umr;
	struct mlx5_wqe_mkey_context_seg mkey;
	struct mlx5_wqe_umr_klm_seg klm;
	uint8_t pad[48];
};

_Static_assert(sizeof(struct mlx5_wqe_ctrl_seg) == 16, "layout");
_Static_assert(sizeof(struct mlx5_wqe_xrc_seg) == 16, "layout");
_Static_assert(sizeof(struct mlx5_wqe_av) == 48, "layout");
_Static_assert(sizeof(struct mlx5_wqe_umr_ctrl_seg) == 48, "layout");
_Static_assert(sizeof(struct mlx5_wqe_mkey_context_seg) == 64, "layout");
_Static_assert(sizeof(struct mlx5_bind_wqe) == 192, "layout");
_Static_assert(sizeof(struct mlx5_mmo_wqe) == MLX5_BLOCK_SIZE, "layout");
_Static_assert(sizeof(struct mlx5_wqe_umr_repeat_block_seg) == MLX5_DS, "layout");
_Static_assert(sizeof(struct mlx5_wqe_umr_repeat_ent_seg) == MLX5_DS, "layout");
_Static_assert(offsetof(struct mlx5_bind_wqe, mkey) == 64, "segments end at blocks");

/* Of a receive queue: too many elements are EINVAL, and bit 31 of a length is dropped. */
static inline struct drv_recv_limits mlx5_recv_limits(uint32_t max_sge)
{
	return (struct drv_recv_limits){ .max_sge = max_sge,
					 .sge_errno = EINVAL,
					 .length_mask = ~MLX5_DATA_SEG_MAX };
}

static inline uint32_t mlx5_blocks(uint32_t ds)
{
	return (ds + 3) / 4;
}

#endif
