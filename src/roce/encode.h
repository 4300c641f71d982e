/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From struct roce_pkt to the bytes of a UDP payload. No state; any thread.
 *
 * A packet is BTH, extension headers, payload, pad to four bytes, ICRC. The opcode decides which extension
 * headers there are (opcode.h), and so which fields of struct roce_pkt are used:
 *
 *	FETH       rdma.feth
 *	RETH       rdma.va, rdma.rkey, rdma.dma_len
 *	AtomicETH  atomic.va, atomic.rkey, atomic.swap (or the number to add), atomic.compare
 *	AETH       ack.syndrome, ack.msn
 *	AtomicAck  ack.orig
 *	DCETH      dc.key, sqpn, dc.session, dc.first_psn
 *	DETH       ud.qkey, sqpn
 *	XRCETH     rdma.srqn or atomic.srqn, which have the same offset
 *	ImmDt      imm, in network order
 *	IETH       imm, the key in host order
 *
 * Flags that are encoded: ROCE_PKT_SOLICITED, _ACK_REQ, _MIGREQ, _FECN, _BECN.
 */
#ifndef ROCE_ENCODE_H
#define ROCE_ENCODE_H

#include <assert.h>
#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "roce/header.h"
#include "roce/opcode.h"
#include "roce/packet.h"
#include "util/api.h"

/* Pad bytes after a payload of this length (IBTA vol 1 r1.4, 9.2.3). */
static inline uint32_t roce_pad(uint32_t payload)
{
	return -payload & 3;
}

static inline void roce_put32(uint8_t *to, uint32_t v)
{
	v = htobe32(v);
	memcpy(to, &v, sizeof(v));
}

/* The BTH as three big-endian words: opcode to P_Key, FECN to destination QP, ACK request and PSN. */
static inline void roce_encode_bth(const struct roce_pkt *pkt, uint16_t pkey, uint8_t *out)
{
	uint32_t flags = pkt->flags, second = pkt->dqpn & 0xffffff;
	uint32_t first = (uint32_t)pkt->op << 24 | roce_pad(pkt->len) << (16 + ROCE_BTH_PAD_SHIFT) |
			 (flags & ROCE_PKT_SOLICITED ? ROCE_BTH_SE << 16 : 0) | pkey;

	if (unlikely(flags & (ROCE_PKT_MIGREQ | ROCE_PKT_FECN | ROCE_PKT_BECN))) {
		first |= flags & ROCE_PKT_MIGREQ ? ROCE_BTH_MIGREQ << 16 : 0;
		second |= (flags & ROCE_PKT_FECN ? (uint32_t)ROCE_BTH_FECN << 24 : 0) |
			  (flags & ROCE_PKT_BECN ? ROCE_BTH_BECN << 24 : 0);
	}
	roce_put32(out, first);
	roce_put32(out + 4, second);
	roce_put32(out + 8, (flags & ROCE_PKT_ACK_REQ ? (uint32_t)ROCE_BTH_ACKREQ << 24 : 0) |
				    (pkt->psn & PSN_MASK));
}

/* Writes the extension headers `headers` (enum roce_header); returns the end. */
uint8_t *roce_encode_headers(const struct roce_pkt *pkt, uint32_t headers, uint8_t *out);

/*
 * Writes BTH and extension headers, at most ROCE_MAX_HEADER bytes; returns their length. pkt->len must
 * suit the opcode (asserted). The caller appends payload, pad (roce_pad) and ICRC.
 */
static inline size_t roce_encode(const struct roce_pkt *pkt, uint16_t pkey, uint8_t *out)
{
	const struct roce_opcode_info *info = &roce_opcode_table[pkt->op];
	uint8_t *end = out + ROCE_BTH_BYTES;

	assert(info->name && roce_payload_allowed(info->payload, pkt->len));
	roce_encode_bth(pkt, pkey, out);
	if (info->headers)
		end = roce_encode_headers(pkt, info->headers, end);
	assert(end == out + info->length);
	(void)end;
	return info->length;
}

#endif
