/* SPDX-License-Identifier: BSD-2-Clause */
/* A packet of every opcode with every field set, and random numbers that print their seed. */
#ifndef TESTS_ROCE_SAMPLES_H
#define TESTS_ROCE_SAMPLES_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

#include "roce/encode.h"
#include "roce/opcode.h"

static inline uint32_t sample_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return *state >> 32;
}

/* A payload length that the opcode allows, near `wish`. */
static inline uint32_t sample_length(uint8_t op, uint32_t wish)
{
	uint32_t full = 256;

	switch (roce_opcode_table[op].payload) {
	case ROCE_PAYLOAD_NONE:
		return 0;
	case ROCE_PAYLOAD_CNP:
		return ROCE_CNP_BYTES;
	case ROCE_PAYLOAD_WORD:
		return 8;
	case ROCE_PAYLOAD_ARGS:
		return wish < ROCE_MASKED_SWAP_BYTES ? ROCE_MASKED_ADD_BYTES
						     : ROCE_MASKED_SWAP_BYTES;
	case ROCE_PAYLOAD_FULL:
		while (full < wish && full < 4096)
			full *= 2;
		return full;
	case ROCE_PAYLOAD_SOME:
		return wish ? wish : 1;
	default:
		return wish;
	}
}

static inline struct roce_pkt sample_packet(uint8_t op, uint32_t wish)
{
	const struct roce_opcode_info *info = roce_opcode_find(op);
	struct roce_pkt pkt = {
		.op = op,
		.flags = ROCE_PKT_SOLICITED | ROCE_PKT_ACK_REQ,
		.dqpn = 0xabcde1,
		.psn = 0x123456,
		.len = sample_length(op, wish),
	};

	if (info->headers & ROCE_HDR_RETH) {
		pkt.rdma.va = 0x1122334455667788;
		pkt.rdma.rkey = 0x99aabbcc;
		pkt.rdma.dma_len = 0x01020304;
	}
	if (info->headers & ROCE_HDR_FETH)
		pkt.rdma.feth = ROCE_FETH_PERSISTENT | ROCE_FETH_REGION;
	if (info->headers & ROCE_HDR_ATOMICETH) {
		pkt.atomic.va = 0x1122334455667788;
		pkt.atomic.rkey = 0x99aabbcc;
		pkt.atomic.swap = 0xa1a2a3a4a5a6a7a8;
		pkt.atomic.compare = 0xb1b2b3b4b5b6b7b8;
	}
	if (info->headers & ROCE_HDR_AETH) {
		pkt.ack.syndrome = ROCE_SYN_ACK;
		pkt.ack.msn = 0x654321;
	}
	if (info->headers & ROCE_HDR_ATOMICACKETH)
		pkt.ack.orig = 0xc1c2c3c4c5c6c7c8;
	if (info->headers & ROCE_HDR_DCETH) {
		pkt.dc.key = 0xf1f2f3f4f5f6f7f8;
		pkt.dc.session = 0x81828384;
		pkt.dc.first_psn = 0x123400;
		pkt.sqpn = 0x000123;
	}
	if (info->headers & ROCE_HDR_XRCETH)
		pkt.rdma.srqn = 0x00fedc;
	if (info->headers & ROCE_HDR_DETH) {
		pkt.ud.qkey = 0x11111111;
		pkt.sqpn = 0x000123;
	}
	if (info->headers & ROCE_HDR_IMMDT)
		pkt.imm = htobe32(0xd1d2d3d4);
	if (info->headers & ROCE_HDR_IETH)
		pkt.imm = 0xe1e2e3e4;
	return pkt;
}

/* Headers, payload of counting bytes and pad, without ICRC; returns the length. */
static inline size_t sample_bytes(const struct roce_pkt *pkt, uint16_t pkey, uint8_t *out)
{
	size_t len = roce_encode(pkt, pkey, out);

	for (uint32_t i = 0; i < pkt->len; i++)
		out[len++] = (uint8_t)(i * 7 + 1);
	memset(out + len, 0, roce_pad(pkt->len));
	return len + roce_pad(pkt->len);
}

#endif
