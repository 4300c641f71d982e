/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What lies in mlx5 rings: completion entries, work-queue segments and the small helpers that
 * fill or read them. Part of mlx5dv.h; programs include that one.
 *
 * Multi-byte members are big endian unless typed otherwise.
 */
#ifndef _MLX5DV_RINGS_H_
#define _MLX5DV_RINGS_H_

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <linux/types.h>
#ifdef __SSE3__
#include <limits.h>
#include <emmintrin.h>
#include <tmmintrin.h>
#endif

#include <infiniband/verbs.h>
#include <infiniband/tm_types.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __GNUC__
#define MLX5DV_ALWAYS_INLINE inline __attribute__((always_inline))
#else
#define MLX5DV_ALWAYS_INLINE inline
#endif

/* Indices into a doorbell record. */
enum {
	MLX5_RCV_DBR = 0,
	MLX5_SND_DBR = 1,
};

/* Work-request opcodes, low byte of a control segment's first word. */
enum {
	MLX5_OPCODE_NOP = 0x00,
	MLX5_OPCODE_SEND_INVAL = 0x01,
	MLX5_OPCODE_RDMA_WRITE = 0x08,
	MLX5_OPCODE_RDMA_WRITE_IMM = 0x09,
	MLX5_OPCODE_SEND = 0x0a,
	MLX5_OPCODE_SEND_IMM = 0x0b,
	MLX5_OPCODE_TSO = 0x0e,
	MLX5_OPCODE_RDMA_READ = 0x10,
	MLX5_OPCODE_ATOMIC_CS = 0x11,
	MLX5_OPCODE_ATOMIC_FA = 0x12,
	MLX5_OPCODE_ATOMIC_MASKED_CS = 0x14,
	MLX5_OPCODE_ATOMIC_MASKED_FA = 0x15,
	MLX5_OPCODE_FMR = 0x19,
	MLX5_OPCODE_LOCAL_INVAL = 0x1b,
	MLX5_OPCODE_CONFIG_CMD = 0x1f,
	MLX5_OPCODE_SET_PSV = 0x20,
	MLX5_OPCODE_UMR = 0x25,
	MLX5_OPCODE_TAG_MATCHING = 0x28,
	MLX5_OPCODE_FLOW_TBL_ACCESS = 0x2c,
	MLX5_OPCODE_MMO = 0x2f,
};

/* Completion entries */

/* op_own: ownership in bit 0, opcode in bits 7:4. */
enum {
	MLX5_CQE_OWNER_MASK = 0x1,
	MLX5_CQE_REQ = 0,
	MLX5_CQE_RESP_WR_IMM = 1,
	MLX5_CQE_RESP_SEND = 2,
	MLX5_CQE_RESP_SEND_IMM = 3,
	MLX5_CQE_RESP_SEND_INV = 4,
	MLX5_CQE_RESIZE_CQ = 5,
	MLX5_CQE_NO_PACKET = 6,
	MLX5_CQE_SIG_ERR = 12,
	MLX5_CQE_REQ_ERR = 13,
	MLX5_CQE_RESP_ERR = 14,
	MLX5_CQE_INVALID = 15,
};

enum {
	MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR = 0x01,
	MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR = 0x02,
	MLX5_CQE_SYNDROME_LOCAL_PROT_ERR = 0x04,
	MLX5_CQE_SYNDROME_WR_FLUSH_ERR = 0x05,
	MLX5_CQE_SYNDROME_MW_BIND_ERR = 0x06,
	MLX5_CQE_SYNDROME_BAD_RESP_ERR = 0x10,
	MLX5_CQE_SYNDROME_LOCAL_ACCESS_ERR = 0x11,
	MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR = 0x12,
	MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR = 0x13,
	MLX5_CQE_SYNDROME_REMOTE_OP_ERR = 0x14,
	MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR = 0x15,
	MLX5_CQE_SYNDROME_RNR_RETRY_EXC_ERR = 0x16,
	MLX5_CQE_SYNDROME_REMOTE_ABORTED_ERR = 0x22,
};

enum {
	MLX5_CQE_VENDOR_SYNDROME_ODP_PFAULT = 0x93,
};

/* hds_ip_ext: which checksums were good. */
enum {
	MLX5_CQE_L2_OK = 1 << 0,
	MLX5_CQE_L3_OK = 1 << 1,
	MLX5_CQE_L4_OK = 1 << 2,
};

/* l4_hdr_type_etc, bits 3:2. */
enum {
	MLX5_CQE_L3_HDR_TYPE_NONE = 0,
	MLX5_CQE_L3_HDR_TYPE_IPV6 = 1,
	MLX5_CQE_L3_HDR_TYPE_IPV4 = 2,
};

/* op_own: payload carried in this entry, or in the 64 bytes in front of it. */
enum {
	MLX5_INLINE_SCATTER_32 = 0x4,
	MLX5_INLINE_SCATTER_64 = 0x8,
};

/* Where in a UAR page, and with which command, a CQ is armed. */
enum {
	MLX5_CQ_DOORBELL = 0x20,
};

enum {
	MLX5_CQ_DB_REQ_NOT_SOL = 1 << 24,
	MLX5_CQ_DB_REQ_NOT = 0,
};

struct mlx5_err_cqe {
	uint8_t rsvd0[32];
	uint32_t srqn;
	uint8_t rsvd1[18];
	uint8_t vendor_err_synd;
	uint8_t syndrome;
	uint32_t s_wqe_opcode_qpn;
	uint16_t wqe_counter;
	uint8_t signature;
	uint8_t op_own;
};

struct mlx5_tm_cqe {
	__be32 success;
	__be16 hw_phase_cnt;
	uint8_t rsvd0[12];
};

enum {
	MLX5_TMC_SUCCESS = 0x80000000U,
};

struct mlx5_cqe64 {
	union {
		struct {
			uint8_t rsvd0[2];
			__be16 wqe_id;
			uint8_t rsvd4[13];
			uint8_t ml_path;
			uint8_t rsvd20[4];
			__be16 slid;
			__be32 flags_rqpn;
			uint8_t hds_ip_ext;
			uint8_t l4_hdr_type_etc;
			__be16 vlan_info;
		};
		/* Tag matching puts its verdict, or the matched header, here. */
		struct mlx5_tm_cqe tm_cqe;
		struct ibv_tmh tmh;
	};
	__be32 srqn_uidx;
	__be32 imm_inval_pkey;
	uint8_t app;
	uint8_t app_op;
	__be16 app_info;
	__be32 byte_cnt;
	__be64 timestamp;
	__be32 sop_drop_qpn;
	__be16 wqe_counter;
	uint8_t signature;
	uint8_t op_own;
};

static MLX5DV_ALWAYS_INLINE uint8_t mlx5dv_get_cqe_owner(struct mlx5_cqe64 *cqe)
{
	return cqe->op_own % 2;
}

static MLX5DV_ALWAYS_INLINE void mlx5dv_set_cqe_owner(struct mlx5_cqe64 *cqe, uint8_t val)
{
	if (val & MLX5_CQE_OWNER_MASK)
		cqe->op_own |= MLX5_CQE_OWNER_MASK;
	else
		cqe->op_own &= 0xfe;
}

static MLX5DV_ALWAYS_INLINE uint8_t mlx5dv_get_cqe_se(struct mlx5_cqe64 *cqe)
{
	return !!(cqe->op_own & 0x02);
}

static MLX5DV_ALWAYS_INLINE uint8_t mlx5dv_get_cqe_format(struct mlx5_cqe64 *cqe)
{
	return (cqe->op_own & 0x0c) >> 2;
}

static MLX5DV_ALWAYS_INLINE uint8_t mlx5dv_get_cqe_opcode(struct mlx5_cqe64 *cqe)
{
	return (cqe->op_own & 0xf0) >> 4;
}

/* Work-queue entries */

enum {
	MLX5_SEND_WQE_SHIFT = 6,
	MLX5_SEND_WQE_BB = 1 << MLX5_SEND_WQE_SHIFT,
};

/* fm_ce_se of a control segment. */
enum {
	MLX5_WQE_CTRL_SOLICITED = 1 << 1,
	MLX5_WQE_CTRL_CQ_UPDATE = 2 << 2,
	MLX5_WQE_CTRL_INITIATOR_SMALL_FENCE = 1 << 5,
	MLX5_WQE_CTRL_FENCE = 4 << 5,
};

enum {
	/* Ends a scatter list that is shorter than its WQE. */
	MLX5_INVALID_LKEY = 0x100,
};

enum {
	MLX5_EXTENDED_UD_AV = 0x80000000,
};

enum {
	MLX5_INLINE_SEG = 0x80000000,
};

enum {
	MLX5_ETH_WQE_L3_CSUM = 1 << 6,
	MLX5_ETH_WQE_L4_CSUM = 1 << 7,
};

struct mlx5_wqe_ctrl_seg {
	__be32 opmod_idx_opcode;
	__be32 qpn_ds;
	uint8_t signature;
	__be16 dci_stream_channel_id;
	uint8_t fm_ce_se;
	__be32 imm;
} __attribute__((__packed__, __aligned__(4)));

struct mlx5_wqe_srq_next_seg {
	uint8_t rsvd0[2];
	__be16 next_wqe_index;
	uint8_t signature;
	uint8_t rsvd1[11];
};

struct mlx5_wqe_data_seg {
	__be32 byte_count;
	__be32 lkey;
	__be64 addr;
};

struct mlx5_wqe_inl_data_seg {
	uint32_t byte_count;
};

/* A striding receive entry behind an SRQ-style link. */
struct mlx5_mprq_wqe {
	struct mlx5_wqe_srq_next_seg nseg;
	struct mlx5_wqe_data_seg dseg;
};

struct mlx5_wqe_av {
	union {
		struct {
			__be32 qkey;
			__be32 reserved;
		} qkey;
		__be64 dc_key;
	} key;
	__be32 dqp_dct;
	uint8_t stat_rate_sl;
	uint8_t fl_mlid;
	__be16 rlid;
	uint8_t reserved0[4];
	uint8_t rmac[ETHERNET_LL_SIZE];
	uint8_t tclass;
	uint8_t hop_limit;
	__be32 grh_gid_fl;
	uint8_t rgid[16];
};

struct mlx5_wqe_datagram_seg {
	struct mlx5_wqe_av av;
};

struct mlx5_wqe_raddr_seg {
	__be64 raddr;
	__be32 rkey;
	__be32 reserved;
};

struct mlx5_wqe_atomic_seg {
	__be64 swap_add;
	__be64 compare;
};

struct mlx5_wqe_eth_seg {
	__be32 rsvd0;
	uint8_t cs_flags;
	uint8_t rsvd1;
	__be16 mss;
	__be32 rsvd2;
	__be16 inline_hdr_sz;
	uint8_t inline_hdr_start[2];
	uint8_t inline_hdr[16];
};

struct mlx5_wqe_tm_seg {
	uint8_t opcode;
	uint8_t flags;
	__be16 index;
	uint8_t rsvd0[2];
	__be16 sw_cnt;
	uint8_t rsvd1[8];
	__be64 append_tag;
	__be64 append_mask;
};

/* Memory-key updates (UMR) */

enum {
	MLX5_WQE_UMR_CTRL_FLAG_CHECK_QPN = 1 << 3,
	MLX5_WQE_UMR_CTRL_FLAG_TRNSLATION_OFFSET = 1 << 4,
	MLX5_WQE_UMR_CTRL_FLAG_CHECK_FREE = 1 << 5,
	MLX5_WQE_UMR_CTRL_FLAG_INLINE = 1 << 7,
};

/* mkey_mask: which parts of the key's context the update changes. */
enum {
	MLX5_WQE_UMR_CTRL_MKEY_MASK_LEN = 1 << 0,
	MLX5_WQE_UMR_CTRL_MKEY_MASK_START_ADDR = 1 << 6,
	MLX5_WQE_UMR_CTRL_MKEY_MASK_SIG_ERR = 1 << 9,
	MLX5_WQE_UMR_CTRL_MKEY_MASK_BSF_ENABLE = 1 << 12,
	MLX5_WQE_UMR_CTRL_MKEY_MASK_MKEY = 1 << 13,
	MLX5_WQE_UMR_CTRL_MKEY_MASK_QPN = 1 << 14,
	MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_LOCAL_WRITE = 1 << 18,
	MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_REMOTE_READ = 1 << 19,
	MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_REMOTE_WRITE = 1 << 20,
	MLX5_WQE_UMR_CTRL_MKEY_MASK_ACCESS_ATOMIC = 1 << 21,
	MLX5_WQE_UMR_CTRL_MKEY_MASK_FREE = 1 << 29,
};

enum {
	MLX5_WQE_MKEY_CONTEXT_FREE = 1 << 6,
};

enum {
	MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_LOCAL_READ = 1 << 2,
	MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_LOCAL_WRITE = 1 << 3,
	MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_REMOTE_READ = 1 << 4,
	MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_REMOTE_WRITE = 1 << 5,
	MLX5_WQE_MKEY_CONTEXT_ACCESS_FLAGS_ATOMIC = 1 << 6,
};

struct mlx5_wqe_umr_ctrl_seg {
	uint8_t flags;
	uint8_t rsvd0[3];
	__be16 klm_octowords;
	union {
		__be16 translation_offset;
		__be16 bsf_octowords;
	};
	__be64 mkey_mask;
	uint8_t rsvd1[32];
};

/* One piece of an indirect key, two gigabytes at most. */
struct mlx5_wqe_umr_klm_seg {
	__be32 byte_count;
	__be32 mkey;
	__be64 address;
};

union mlx5_wqe_umr_inline_seg {
	struct mlx5_wqe_umr_klm_seg klm;
};

struct mlx5_wqe_umr_repeat_ent_seg {
	__be16 stride;
	__be16 byte_count;
	__be32 memkey;
	__be64 va;
};

struct mlx5_wqe_umr_repeat_block_seg {
	__be32 byte_count;
	__be32 op;
	__be32 repeat_count;
	__be16 reserved;
	__be16 num_ent;
	struct mlx5_wqe_umr_repeat_ent_seg entries[0];
};

struct mlx5_wqe_mkey_context_seg {
	uint8_t free;
	uint8_t reserved1;
	uint8_t access_flags;
	uint8_t sf;
	__be32 qpn_mkey;
	__be32 reserved2;
	__be32 flags_pd;
	__be64 start_addr;
	__be64 len;
	__be32 bsf_octword_size;
	__be32 reserved3[4];
	__be32 translations_octword_size;
	uint8_t reserved4[3];
	uint8_t log_page_size;
	__be32 reserved;
	union mlx5_wqe_umr_inline_seg inseg[0];
};

/*
 * Segment writers. pi counts 64-byte blocks modulo 65536 whatever the ring's size; ds counts
 * 16-byte units. imm goes in as it stands: the caller has it in network order already.
 */
static MLX5DV_ALWAYS_INLINE void mlx5dv_set_ctrl_seg(struct mlx5_wqe_ctrl_seg *seg, uint16_t pi,
						     uint8_t opcode, uint8_t opmod, uint32_t qp_num,
						     uint8_t fm_ce_se, uint8_t ds,
						     uint8_t signature, uint32_t imm)
{
	const uint32_t what = ((uint32_t)opmod << 24) + ((uint32_t)pi << 8) + opcode;
	const uint32_t whose = (qp_num << 8) | ds;

	/* The stream channel between signature and fm_ce_se belongs to the caller. */
	seg->opmod_idx_opcode = htobe32(what);
	seg->qpn_ds = htobe32(whose);
	seg->signature = signature;
	seg->fm_ce_se = fm_ce_se;
	seg->imm = imm;
}

static MLX5DV_ALWAYS_INLINE void mlx5dv_set_data_seg(struct mlx5_wqe_data_seg *seg, uint32_t length,
						     uint32_t lkey, uintptr_t address)
{
	seg->addr = htobe64((uint64_t)address);
	seg->lkey = htobe32(lkey);
	seg->byte_count = htobe32(length);
}

#ifdef __SSE3__
/* As above, as one 16-byte store; the stream channel becomes 0. */
static MLX5DV_ALWAYS_INLINE void mlx5dv_x86_set_ctrl_seg(struct mlx5_wqe_ctrl_seg *seg, uint16_t pi,
							 uint8_t opcode, uint8_t opmod,
							 uint32_t qp_num, uint8_t fm_ce_se,
							 uint8_t ds, uint8_t signature,
							 uint32_t imm)
{
	const uint32_t what = ((uint32_t)opmod << 24) + ((uint32_t)pi << 8) + opcode;
	const uint32_t whose = (qp_num << 8) | ds;
	const uint32_t flags = ((uint32_t)fm_ce_se << 24) | signature;
	void *to = seg;

	_mm_storeu_si128((__m128i *)to, _mm_set_epi32((int)imm, (int)flags, (int)htobe32(whose),
						      (int)htobe32(what)));
}

static MLX5DV_ALWAYS_INLINE void mlx5dv_x86_set_data_seg(struct mlx5_wqe_data_seg *seg,
							 uint32_t length, uint32_t lkey,
							 uintptr_t address)
{
	const uint64_t be_addr = htobe64((uint64_t)address);
	void *to = seg;

	_mm_storeu_si128((__m128i *)to, _mm_set_epi32((int)(be_addr >> 32), (int)be_addr,
						      (int)htobe32(lkey), (int)htobe32(length)));
}
#endif

/* key is a 64-bit DC access key, or a Q_Key in the upper half. ext announces a full vector. */
static MLX5DV_ALWAYS_INLINE void
mlx5dv_set_dgram_seg(struct mlx5_wqe_datagram_seg *seg, uint64_t key, uint32_t dqp_dct, uint8_t ext,
		     uint8_t stat_rate_sl, uint8_t fl_mlid, uint16_t rlid, uint8_t *rmac,
		     uint8_t tclass, uint8_t hop_limit, uint32_t grh_gid_fi, uint8_t *rgid)
{
	struct mlx5_wqe_av *av = &seg->av;

	av->key.dc_key = htobe64(key);
	av->dqp_dct = htobe32(dqp_dct | ((uint32_t)ext << 31));
	av->stat_rate_sl = stat_rate_sl;
	av->fl_mlid = fl_mlid;
	av->rlid = htobe16(rlid);
	memcpy(av->rmac, rmac, sizeof(av->rmac));
	av->tclass = tclass;
	av->hop_limit = hop_limit;
	av->grh_gid_fl = htobe32(grh_gid_fi);
	memcpy(av->rgid, rgid, sizeof(av->rgid));
}

/* The header may run past the segment's end; the ring has room for it. */
static MLX5DV_ALWAYS_INLINE void mlx5dv_set_eth_seg(struct mlx5_wqe_eth_seg *seg, uint8_t cs_flags,
						    uint16_t mss, uint16_t inline_hdr_sz,
						    uint8_t *inline_hdr_start)
{
	uint8_t *to = (uint8_t *)seg + offsetof(struct mlx5_wqe_eth_seg, inline_hdr_start);

	seg->cs_flags = cs_flags;
	seg->mss = htobe16(mss);
	seg->inline_hdr_sz = htobe16(inline_hdr_sz);
	memcpy(to, inline_hdr_start, inline_hdr_sz);
}

#ifdef __cplusplus
}
#endif

#endif
