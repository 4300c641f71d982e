/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parts of WQEs without a public name, and limits. The public segments are in
 * <infiniband/mlx5dv_rings.h>.
 *
 * A send WQE is a control segment, a segment of the transport (address vector, XRC target), one of
 * the operation (remote address, atomic operands), then data; all in units of 16 bytes. It starts
 * at a block of 64 bytes and may wrap around the ring's end.
 */
#ifndef MLX5_WQE_H
#define MLX5_WQE_H

#include <errno.h>

#include "driver/recv_wqe.h"
#include "mlx5/public.h"

#define MLX5_DS         16u /* bytes of the unit of a WQE's length (ds) */
#define MLX5_DS_MASK    0x3fu
#define MLX5_BLOCK_SIZE 64u
#define MLX5_INDEX_MASK 0xffffu
#define MLX5_QPN_MASK   0xffffffu

/* Bytes of the longest WQEs of a ConnectX. */
#define MLX5_SQ_ENTRY_MAX 1024u
#define MLX5_RQ_ENTRY_MAX 512u
/* Blocks of the longest send queue. */
#define MLX5_SQ_BLOCKS_MAX 32768u

/* Bytes of the longest data segment; it is written as 0. */
#define MLX5_DATA_SEG_MAX (1u << 31)

/* fm_ce_se of a control segment: fence mode in bits 7:5, completion mode in bits 3:2. */
#define MLX5_FENCE_SHIFT 5
#define MLX5_FENCE_SMALL 1

/* Bits of the Ethernet segment without a public name. */
#define MLX5_ETH_INNER_L3    (1u << 4)
#define MLX5_ETH_INNER_L4    (1u << 5)
#define MLX5_ETH_MSS_MASK    0x3fffu
#define MLX5_ETH_INSERT_VLAN 0x8000u /* in inline_hdr_sz */
#define MLX5_ETH_L2_INLINE   18u     /* bytes that a ConnectX-4 needs inline */

/* byte_cnt of CQEs of striding receive queues. */
#define MLX5_STRIDES_SHIFT 16
#define MLX5_STRIDES_MASK  0x7fffu
#define MLX5_STRIDE_FILLER (1u << 31)

struct mlx5_wqe_xrc_seg {
	__be32 srqn;
	uint8_t reserved[12];
};

/* Modifiers of the opcode MMO (memory to memory). */
enum {
	MLX5_MMO_DMA = 1,
	MLX5_MMO_COMPRESS = 2,
	MLX5_MMO_DECOMPRESS = 3,
};

/* Where the results go; key 0: they are not wanted. */
struct mlx5_wqe_mmo_seg {
	__be32 control;
	__be32 local_key;
	__be64 local_address;
};

/* The control segment's imm has the operation's parameters (decode_mmo.c). */
struct mlx5_mmo_wqe {
	struct mlx5_wqe_ctrl_seg ctrl;
	struct mlx5_wqe_mmo_seg meta;
	struct mlx5_wqe_data_seg from, to;
};

/*
 * FLUSH and ATOMIC WRITE have no published WQE: neither rdma-core nor the kernel has them for mlx5. Opcodes and
 * the segment of FLUSH are Verbena's own; the opcodes are those of the packets with bit 5 set, which mlx5 does
 * not use. FLUSH is control, transport, remote address and flush segment; ATOMIC WRITE is laid out like an RDMA
 * WRITE of 8 bytes.
 */
/* Frames, one per data segment (enhanced multi-packet send). */
#define MLX5_OPCODE_EMPW         0x29
#define MLX5_OPCODE_ACCESS_ASO   0x2d
#define MLX5_OPCODE_FLUSH        0x3c
#define MLX5_OPCODE_ATOMIC_WRITE 0x3d

/*
 * Modifiers of masked atomics: operands of 4 and of 8 bytes, which precede the data segment. 4
 * bytes: swap, compare, swap mask, compare mask, or what to add, the uppermost bits of the fields
 * and 8 reserved bytes. 8 bytes: the same without reserved ones.
 */
#define MLX5_ATOMIC_OPMOD_4 8
#define MLX5_ATOMIC_OPMOD_8 9

/* Modifiers of ACCESS_ASO. */
#define MLX5_ASO_OPMOD_CT        1
#define MLX5_ASO_OPMOD_METER     2
#define MLX5_ASO_OPMOD_FIRST_HIT 4

/* Selectivity in bits 5:4 of feth, placement types below. */
#define MLX5_FLUSH_LEVEL_SHIFT 4

struct mlx5_wqe_flush_seg {
	__be32 feth; /* placement types and selectivity, as in the packet */
	__be32 length;
	uint8_t reserved[8];
};

/* Signature contexts: set one, or write up to four to memory. */
#define MLX5_OPCODE_GET_PSV 0x21

struct mlx5_set_psv_seg {
	__be32 index;
	__be16 syndrome;
	uint8_t reserved[2];
	__be64 value;
};

struct mlx5_get_psv_head {
	uint8_t reserved[16];
};

struct mlx5_get_psv_to {
	__be32 count; /* in the low byte */
	__be32 key;
	__be64 va;
};

struct mlx5_get_psv_list {
	__be32 index[4];
};

/* flags_pd of a mkey context: the key's BSFs are in use; counter of signature errors. */
#define MLX5_MKEY_BSF_ENABLE    (1u << 30)
#define MLX5_MKEY_SIG_ERR_SHIFT 26

/* flags of a tag matching segment; its opcode is in the upper half of the byte. */
#define MLX5_TM_HANDLED    (1u << 6) /* sw_cnt is valid */
#define MLX5_TM_CQE_REQ    (1u << 7)
#define MLX5_TM_OP_SHIFT   4
#define MLX5_TM_OP_NOP     0x0u
#define MLX5_TM_OP_APPEND  0x1u
#define MLX5_TM_OP_REMOVE  0x2u
#define MLX5_TM_INDEX_MASK 0xffffu
#define MLX5_CQE_APP_TM    1u /* `app` of a CQE of tag matching */

/* In place of a key in a KLM list: a repeat block follows. */
#define MLX5_REPEAT_BLOCK 0x400u

/* A whole WQE that binds a window; an unbinding one ends before klm. */
struct mlx5_bind_wqe {
	struct mlx5_wqe_ctrl_seg ctrl;
	struct mlx5_wqe_umr_ctrl_seg umr;
	struct mlx5_wqe_mkey_context_seg mkey;
	struct mlx5_wqe_umr_klm_seg klm;
	uint8_t pad[48];
};

_Static_assert(sizeof(struct mlx5_wqe_ctrl_seg) == 16, "layout");
_Static_assert(sizeof(struct mlx5_wqe_xrc_seg) == 16, "layout");
_Static_assert(sizeof(struct mlx5_wqe_flush_seg) == 16, "layout");
_Static_assert(sizeof(struct mlx5_wqe_tm_seg) == 32, "layout");
_Static_assert(sizeof(struct mlx5_wqe_av) == 48, "layout");
_Static_assert(sizeof(struct mlx5_set_psv_seg) == 16, "layout");
_Static_assert(sizeof(struct mlx5_get_psv_to) == 16, "layout");
_Static_assert(sizeof(struct mlx5_wqe_umr_ctrl_seg) == 48, "layout");
_Static_assert(sizeof(struct mlx5_wqe_mkey_context_seg) == 64, "layout");
_Static_assert(sizeof(struct mlx5_bind_wqe) == 192, "layout");
_Static_assert(sizeof(struct mlx5_mmo_wqe) == MLX5_BLOCK_SIZE, "layout");
_Static_assert(sizeof(struct mlx5_wqe_umr_repeat_block_seg) == MLX5_DS, "layout");
_Static_assert(sizeof(struct mlx5_wqe_umr_repeat_ent_seg) == MLX5_DS, "layout");
_Static_assert(offsetof(struct mlx5_bind_wqe, mkey) == 64, "segments end at blocks");

/* Limits of receive WQEs: too many elements are EINVAL, and bit 31 of a length is dropped. */
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
