/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The adapter writes CQEs with the CQ's lock held. A consumer may read the CQE at any time, and
 * takes it when its owner bit changes: the last eight bytes, which have that bit, are written last,
 * in one store. In rings of 64-byte entries the CQE is the second half; the first is not used.
 */
#include "mlx4/cqe.h"

#include <endian.h>

#include "driver/syndrome.h"
#include "hca/device/core_clock.h"
#include "hca/queue/cq.h"
#include "hca/raw/wq.h"
#include "mlx4/wqe.h"
#include "util/api.h"

static const uint8_t send_opcodes[HCA_OP_COUNT] = {
	[HCA_OP_NOP] = MLX4_OPCODE_NOP,
	[HCA_OP_SEND] = MLX4_OPCODE_SEND,
	[HCA_OP_SEND_IMM] = MLX4_OPCODE_SEND_IMM,
	[HCA_OP_SEND_INV] = MLX4_OPCODE_SEND_INVAL,
	[HCA_OP_WRITE] = MLX4_OPCODE_RDMA_WRITE,
	[HCA_OP_WRITE_IMM] = MLX4_OPCODE_RDMA_WRITE_IMM,
	[HCA_OP_READ] = MLX4_OPCODE_RDMA_READ,
	[HCA_OP_CMP_SWAP] = MLX4_OPCODE_ATOMIC_CS,
	[HCA_OP_FETCH_ADD] = MLX4_OPCODE_ATOMIC_FA,
	[HCA_OP_MASKED_CMP_SWAP] = MLX4_OPCODE_MASKED_ATOMIC_CS,
	[HCA_OP_MASKED_FETCH_ADD] = MLX4_OPCODE_MASKED_ATOMIC_FA,
	[HCA_OP_LOCAL_INV] = MLX4_OPCODE_LOCAL_INVAL,
	[HCA_OP_BIND_MW] = MLX4_OPCODE_BIND_MW,
	[HCA_OP_TSO] = MLX4_OPCODE_LSO,
};

static const uint8_t recv_opcodes[] = {
	[HCA_RECV_SEND] = MLX4_RECV_OPCODE_SEND,
	[HCA_RECV_SEND_IMM] = MLX4_RECV_OPCODE_SEND_IMM,
	[HCA_RECV_SEND_INV] = MLX4_RECV_OPCODE_SEND_INVAL,
	[HCA_RECV_WRITE_IMM] = MLX4_RECV_OPCODE_RDMA_WRITE_IMM,
};

/* Immediate data, the invalidated key, or else the P_Key index. */
static uint32_t immediate(const struct hca_cqe *c)
{
	switch (c->recv_kind) {
	case HCA_RECV_SEND:
		return htobe32(c->pkey_index & 0x7f);
	case HCA_RECV_SEND_INV:
		return htobe32(c->imm);
	default:
		return c->imm;
	}
}

static uint32_t source(const struct hca_cqe *c)
{
	/*
	 * CQEs of an XRC target have the receive queue's number in place of the sender's QP number.
	 */
	uint32_t qpn = c->xrc ? c->srqn : c->src_qpn;

	return (uint32_t)c->grh << 31 | (uint32_t)(c->path_bits & 0x7f) << 24 |
	       (qpn & MLX4_QPN_MASK);
}

static uint32_t frame_status(const struct hca_frame_info *f)
{
	uint32_t status = 0;

	if (f->l3 == ETHER_L3_IPV4)
		status |= MLX4_CQE_STATUS_IPV4_PKT | (f->options ? MLX4_CQE_STATUS_OPTS : 0);
	else if (f->l3 == ETHER_L3_IPV6)
		status |= MLX4_CQE_STATUS_IPV6;
	if (f->fragment)
		status |= MLX4_CQE_STATUS_FRAG;
	else if (f->l4 == ETHER_L4_TCP)
		status |= MLX4_CQE_STATUS_TCP;
	else if (f->l4 == ETHER_L4_UDP)
		status |= MLX4_CQE_STATUS_UDP;
	if (f->check & ETHER_CHECK_L3_OK)
		status |= MLX4_CQE_STATUS_IP_HDR_CSUM_OK;
	if (f->check & ETHER_CHECK_L4_OK)
		status |= MLX4_CQE_STATUS_TCP_UDP_CSUM_OK;
	return status;
}

/* After the fields of every receive. */
static void write_frame(struct mlx4_cqe *to, const struct hca_cqe *c, bool stamped)
{
	to->g_mlpath_rqpn = 0;
	to->immed_rss_invalid = htobe32(c->frame.rss_hash);
	to->status = htobe32(frame_status(&c->frame));
	if (stamped)
		return;
	to->sl_vid = htobe16(c->frame.vlan_tci);
	to->rlid = 0;
	if (c->frame.has_vlan)
		to->vlan_my_qpn |= htobe32(MLX4_CQE_VLAN);
}

void mlx4_cqe_write(struct hca_cq *cq, uint32_t pi, const struct hca_cqe *c)
{
	uint8_t *slot = (uint8_t *)cq->buf + (size_t)(pi & (cq->size - 1)) * cq->entry_size;
	struct mlx4_cqe *to = (void *)(slot + cq->entry_size - sizeof(*to));
	uint64_t last = (uint64_t)c->counter << 48;
	uint8_t own = pi & cq->size ? MLX4_CQE_OWNER_MASK : 0;
	uint64_t *word = (uint64_t *)to;

	to->vlan_my_qpn = htobe32(c->qpn & MLX4_QPN_MASK);
	to->immed_rss_invalid = 0;
	to->g_mlpath_rqpn = c->is_recv ? htobe32(source(c)) : 0;
	if (!c->is_recv)
		own |= MLX4_CQE_IS_SEND_MASK;
	if (unlikely(c->status != HCA_SUCCESS)) {
		to->ts_47_16 = 0;
		to->status = 0;
		to->byte_cnt = 0;
		last |= (uint64_t)(uint8_t)c->vendor << 40 | (uint64_t)drv_syndrome(c->status)
								     << 32;
		last |= own | MLX4_CQE_OPCODE_ERROR;
	} else {
		if (unlikely(cq->timestamp_mask)) {
			uint64_t now =
				c->timestamp ? c->timestamp : hca_core_clock(cq->ctx->adapter);

			to->ts_47_16 = htobe32(now >> 16);
			last |= (now & 0xffff) << 8;
		} else if (c->is_recv) {
			to->sl_vid = htobe16(c->roce ? (c->sl & 7) << 13 : (c->sl & 0xf) << 12);
			to->rlid = htobe16(c->slid);
		} else {
			to->sl_vid = 0;
			to->rlid = 0;
		}
		to->status = 0;
		to->byte_cnt = htobe32(c->byte_len);
		if (c->is_recv) {
			to->immed_rss_invalid = immediate(c);
			if (unlikely(c->raw)) {
				write_frame(to, c, cq->timestamp_mask);
				/* checksum is all ones when it is right. */
				if (c->frame.check & ETHER_CHECK_L4_OK)
					last |= 0xffffull << 32;
			}
		}
		last |= own | (c->is_recv ? recv_opcodes[c->recv_kind] : send_opcodes[c->op]);
	}
	/* [X2] pairs with mlx4_cqe_ready(), or a program's own polling: the CQE before its owner */
	__atomic_store_n(&word[3], htobe64(last), __ATOMIC_RELEASE);
}
