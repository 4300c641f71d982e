/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The adapter writes CQEs with the CQ's lock held. A consumer may read the CQE at any time, and
 * takes it when the last eight bytes (QP, counter, opcode, owner) have their new value: they are
 * written last, in one store. In rings of 128-byte entries the CQE is the second half; the first is
 * for scattered data.
 */
#include "mlx5/cqe.h"

#include <endian.h>
#include <string.h>

#include "driver/syndrome.h"
#include "hca/device/core_clock.h"
#include "hca/queue/cq.h"
#include "hca/raw/wq.h"
#include "mlx5/wqe.h"
#include "util/api.h"

static const uint8_t send_opcodes[HCA_OP_COUNT] = {
	[HCA_OP_NOP] = MLX5_OPCODE_NOP,
	[HCA_OP_SEND] = MLX5_OPCODE_SEND,
	[HCA_OP_SEND_IMM] = MLX5_OPCODE_SEND_IMM,
	[HCA_OP_SEND_INV] = MLX5_OPCODE_SEND_INVAL,
	[HCA_OP_WRITE] = MLX5_OPCODE_RDMA_WRITE,
	[HCA_OP_WRITE_IMM] = MLX5_OPCODE_RDMA_WRITE_IMM,
	[HCA_OP_READ] = MLX5_OPCODE_RDMA_READ,
	[HCA_OP_CMP_SWAP] = MLX5_OPCODE_ATOMIC_CS,
	[HCA_OP_FETCH_ADD] = MLX5_OPCODE_ATOMIC_FA,
	[HCA_OP_MASKED_CMP_SWAP] = MLX5_OPCODE_ATOMIC_MASKED_CS,
	[HCA_OP_MASKED_FETCH_ADD] = MLX5_OPCODE_ATOMIC_MASKED_FA,
	[HCA_OP_LOCAL_INV] = MLX5_OPCODE_UMR,
	[HCA_OP_BIND_MW] = MLX5_OPCODE_UMR,
	[HCA_OP_TSO] = MLX5_OPCODE_TSO,
	[HCA_OP_FRAMES] = MLX5_OPCODE_EMPW,
	[HCA_OP_UMR] = MLX5_OPCODE_UMR,
	[HCA_OP_MMO] = MLX5_OPCODE_MMO,
	[HCA_OP_TAG] = MLX5_OPCODE_TAG_MATCHING,
	[HCA_OP_FLUSH] = MLX5_OPCODE_FLUSH,
	[HCA_OP_ATOMIC_WRITE] = MLX5_OPCODE_ATOMIC_WRITE,
	[HCA_OP_SET_PSV] = MLX5_OPCODE_SET_PSV,
	[HCA_OP_GET_PSV] = MLX5_OPCODE_GET_PSV,
};

static const uint8_t recv_opcodes[] = {
	[HCA_RECV_SEND] = MLX5_CQE_RESP_SEND,
	[HCA_RECV_SEND_IMM] = MLX5_CQE_RESP_SEND_IMM,
	[HCA_RECV_SEND_INV] = MLX5_CQE_RESP_SEND_INV,
	[HCA_RECV_WRITE_IMM] = MLX5_CQE_RESP_WR_IMM,
};

/*
 * rss_hash_type: which addresses and ports were hashed, two bits each for source and destination.
 */
static uint8_t rss_type(uint32_t fields)
{
	uint8_t type = 0;

	if (fields & ETHER_RSS_SRC_IPV4)
		type |= 1;
	if (fields & ETHER_RSS_SRC_IPV6)
		type |= 2;
	if (fields & ETHER_RSS_DST_IPV4)
		type |= 1 << 2;
	if (fields & ETHER_RSS_DST_IPV6)
		type |= 2 << 2;
	if (fields & ETHER_RSS_SRC_PORT_TCP)
		type |= 1 << 4;
	if (fields & ETHER_RSS_SRC_PORT_UDP)
		type |= 2 << 4;
	if (fields & ETHER_RSS_DST_PORT_TCP)
		type |= 1 << 6;
	if (fields & ETHER_RSS_DST_PORT_UDP)
		type |= 2 << 6;
	if (fields & ETHER_RSS_IPSEC_SPI)
		type |= 3 << 4 | 3 << 6;
	return type;
}

/* l4_hdr_type, bits 6:4 of l4_hdr_type_etc. */
static uint8_t l4_type(const struct hca_frame_info *f)
{
	static const uint8_t tcp[] = { 0, 1, 3, 4 };

	if (f->fragment)
		return 0;
	return f->l4 == ETHER_L4_UDP ? 2 : tcp[f->tcp & 3];
}

static void write_frame(struct mlx5_cqe64 *to, const struct hca_cqe *c)
{
	const struct hca_frame_info *f = &c->frame;
	uint32_t hash = htobe32(f->rss_hash);
	uint8_t *byte = (uint8_t *)to;

	to->wqe_id = htobe16(f->entry);
	memcpy(byte + MLX5_CQE_RSS_HASH, &hash, sizeof(hash));
	byte[MLX5_CQE_RSS_TYPE] = rss_type(f->rss_fields);
	to->hds_ip_ext = MLX5_CQE_L2_OK | (f->check & ETHER_CHECK_L3_OK ? MLX5_CQE_L3_OK : 0) |
			 (f->check & ETHER_CHECK_L4_OK ? MLX5_CQE_L4_OK : 0);
	to->l4_hdr_type_etc = f->has_vlan | f->options << 1 |
			      (f->l3 == ETHER_L3_IPV4   ? MLX5_CQE_L3_HDR_TYPE_IPV4
			       : f->l3 == ETHER_L3_IPV6 ? MLX5_CQE_L3_HDR_TYPE_IPV6
							: 0)
				      << 2 |
			      l4_type(f) << 4 | f->fragment << 7;
	to->vlan_info = htobe16(f->vlan_tci);
	if (f->strides)
		to->byte_cnt = htobe32(c->byte_len | (uint32_t)f->strides << MLX5_STRIDES_SHIFT |
				       (f->filler ? MLX5_STRIDE_FILLER : 0));
}

/* Writes the fields of tag matching; returns the CQE's opcode. */
static uint8_t write_tag(struct mlx5_cqe64 *to, const struct hca_cqe *c)
{
	const struct hca_tm_info *tm = c->tm;

	to->app = MLX5_CQE_APP_TM;
	to->app_op = tm->what;
	to->app_info = htobe16(tm->index);
	switch (tm->what) {
	case HCA_TM_APPEND:
	case HCA_TM_REMOVE:
	case HCA_TM_SYNC:
		to->tm_cqe.success = htobe32(tm->done ? MLX5_TMC_SUCCESS : 0);
		to->tm_cqe.hw_phase_cnt = htobe16(tm->unexpected);
		return MLX5_CQE_NO_PACKET;
	case HCA_TM_CONSUMED:
		memcpy(&to->tmh, tm->header, sizeof(to->tmh));
		return MLX5_CQE_NO_PACKET;
	case HCA_TM_CONSUMED_MSG:
	case HCA_TM_CONSUMED_MSG_SW_RNDV:
		memcpy(&to->tmh, tm->header, sizeof(to->tmh));
		return recv_opcodes[c->recv_kind];
	default:
		return recv_opcodes[c->recv_kind];
	}
}

static uint64_t timestamp_of(const struct hca_cq *cq, const struct hca_cqe *c)
{
	if (likely(!cq->timestamp_mask) || c->timestamp)
		return c->timestamp;
	return hca_core_clock(cq->ctx->adapter) & cq->timestamp_mask;
}

/* The CQE at index pi, zeroed but for its last word. */
static inline struct mlx5_cqe64 *begin(const struct hca_cq *cq, uint32_t pi,
				       const struct hca_cqe *c)
{
	uint8_t *end = (uint8_t *)cq->buf + ((size_t)(pi & (cq->size - 1)) + 1) * cq->entry_size;
	struct mlx5_cqe64 *to = (void *)(end - sizeof(*to));

	for (int i = 0; i < 7; i++)
		((uint64_t *)to)[i] = 0;
	to->srqn_uidx = htobe32(c->user_index & MLX5_QPN_MASK);
	return to;
}

static inline void finish(struct mlx5_cqe64 *to, uint32_t sop_qpn, uint8_t opcode, uint8_t format,
			  bool lap, const struct hca_cqe *c)
{
	uint64_t word = (uint64_t)sop_qpn << 32 | (uint64_t)c->counter << 16 |
			(uint8_t)(opcode << 4 | format | c->solicited << 1 | lap);

	/* [M2] pairs with mlx5_cqe_ready(), or a program's own polling: the CQE before its owner */
	__atomic_store_n((uint64_t *)to + 7, htobe64(word), __ATOMIC_RELEASE);
}

static inline uint32_t sop_qpn(const struct hca_cqe *c)
{
	return (c->is_recv ? 0 : (uint32_t)send_opcodes[c->op] << 24) | (c->qpn & MLX5_QPN_MASK);
}

static inline void write_source(struct mlx5_cqe64 *to, const struct hca_cqe *c)
{
	uint32_t flags = c->src_qpn & MLX5_QPN_MASK;

	if (c->grh)
		flags |= 1u << 28;
	if (c->roce) {
		flags |= (uint32_t)(c->roce_kind & 3) << 24;
		to->vlan_info = htobe16((c->sl & 7) << 13);
	} else {
		flags |= (uint32_t)(c->sl & 0xf) << 24;
		to->slid = htobe16(c->slid);
		to->ml_path = c->path_bits & 0x7f;
	}
	to->flags_rqpn = htobe32(flags);
}

/* imm_inval_pkey: immediate data, the invalidated key, or else the P_Key index. */
static inline uint32_t immediate(const struct hca_cqe *c)
{
	if (likely(c->recv_kind == HCA_RECV_SEND))
		return htobe32(c->pkey_index);
	return c->recv_kind == HCA_RECV_SEND_INV ? htobe32(c->imm) : c->imm;
}

/* A wrong signature; the CQE belongs to no request. */
static void write_sig_error(struct mlx5_cqe64 *to, const struct hca_sig_error *e)
{
	static const uint16_t syndromes[] = {
		[HCA_SIG_BAD_GUARD] = MLX5_SIG_ERR_GUARD,
		[HCA_SIG_BAD_APP] = MLX5_SIG_ERR_APP,
		[HCA_SIG_BAD_REF] = MLX5_SIG_ERR_REF,
	};
	struct mlx5_sig_err_cqe *cqe = (void *)to;

	cqe->expected_guard_app = htobe32((uint32_t)(e->expected >> 32));
	cqe->actual_guard_app = htobe32((uint32_t)(e->actual >> 32));
	cqe->expected_ref = htobe32((uint32_t)e->expected);
	cqe->actual_ref = htobe32((uint32_t)e->actual);
	cqe->syndrome = htobe16(syndromes[e->fault]);
	cqe->domain = e->in_memory ? MLX5_SIG_ERR_MEMORY : MLX5_SIG_ERR_WIRE;
	cqe->mkey = htobe32(e->key);
	cqe->offset = htobe64(e->offset);
}

/*
 * CQEs of errors, of received frames (with the flow tag in place of the QP number), of tag matching, and with
 * timestamps.
 */
static __attribute__((noinline)) void write_special(const struct hca_cq *cq, uint32_t pi,
						    const struct hca_cqe *c)
{
	struct mlx5_cqe64 *to = begin(cq, pi, c);
	struct mlx5_err_cqe *err = (void *)to;
	uint8_t opcode = c->is_recv ? MLX5_CQE_RESP_ERR : MLX5_CQE_REQ_ERR;
	uint32_t number = sop_qpn(c);

	if (unlikely(c->status == HCA_SIG_ERR)) {
		write_sig_error(to, c->sig);
		finish(to, number, MLX5_CQE_SIG_ERR, 0, pi & cq->size, c);
		return;
	}
	if (c->status != HCA_SUCCESS) {
		err->vendor_err_synd = (uint8_t)c->vendor;
		((uint8_t *)to)[MLX5_CQE_MMO_SYNDROME] = c->vendor >> 8;
		err->syndrome = drv_syndrome(c->status);
		finish(to, number, opcode, 0, pi & cq->size, c);
		return;
	}
	opcode = c->is_recv ? recv_opcodes[c->recv_kind] : MLX5_CQE_REQ;
	to->byte_cnt = htobe32(c->byte_len);
	to->timestamp = htobe64(timestamp_of(cq, c));
	if (c->is_recv) {
		to->imm_inval_pkey = immediate(c);
		if (c->raw) {
			write_frame(to, c);
			number = c->frame.tag & MLX5_QPN_MASK;
		} else {
			write_source(to, c);
			if (c->tm)
				opcode = write_tag(to, c);
		}
	}
	finish(to, number, opcode, 0, pi & cq->size, c);
}

void mlx5_cqe_write_title(struct hca_cq *cq, uint32_t pi, const struct hca_cqe *c, uint32_t count)
{
	struct mlx5_cqe64 *to = begin(cq, pi, c);

	to->timestamp = htobe64(timestamp_of(cq, c));
	to->imm_inval_pkey = immediate(c);
	write_frame(to, c);
	to->byte_cnt = htobe32(count);
	finish(to, c->frame.tag & MLX5_QPN_MASK, recv_opcodes[c->recv_kind], MLX5_CQE_COMPRESSED,
	       pi & cq->size, c);
}

/* The common CQEs are written without a call, so that no registers are saved. */
void mlx5_cqe_write(struct hca_cq *cq, uint32_t pi, const struct hca_cqe *c)
{
	struct mlx5_cqe64 *to;

	if (unlikely(c->status != HCA_SUCCESS || cq->timestamp_mask ||
		     (c->is_recv && (c->raw || c->tm)))) {
		write_special(cq, pi, c);
		return;
	}
	to = begin(cq, pi, c);
	to->byte_cnt = htobe32(c->byte_len);
	to->timestamp = htobe64(c->timestamp);
	if (c->is_recv) {
		to->imm_inval_pkey = immediate(c);
		write_source(to, c);
		finish(to, c->qpn & MLX5_QPN_MASK, recv_opcodes[c->recv_kind], 0, pi & cq->size, c);
	} else {
		finish(to, sop_qpn(c), MLX5_CQE_REQ, 0, pi & cq->size, c);
	}
}
