/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Between struct roce_pkt and the bytes behind a UDP header. No state; any thread.
 *
 * A packet is BTH, extension headers (opcode.h), payload, pad to four bytes, ICRC. Which fields
 * of struct roce_pkt count is up to the opcode:
 *
 *	RETH       rdma.va, rdma.rkey, rdma.dma_len
 *	AtomicETH  atomic.va, atomic.rkey, atomic.swap (or what to add), atomic.compare
 *	AETH       ack.syndrome, ack.msn
 *	AtomicAck  ack.orig
 *	DCETH      dc.key, sqpn, dc.session, dc.first_psn
 *	DETH       ud.qkey, sqpn
 *	XRCETH     rdma.srqn or atomic.srqn, which are one place
 *	ImmDt      imm, in network order
 *	IETH       imm, the key in host order
 *
 * Flags on the wire: ROCE_PKT_SOLICITED, _ACK_REQ, _MIGREQ, _FECN, _BECN.
 */
#ifndef ROCE_CODEC_H
#define ROCE_CODEC_H

#include <assert.h>
#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "roce/opcode.h"
#include "roce/packet.h"
#include "util/api.h"

#define ROCE_PKEY_DEFAULT 0xffff

/* Why a packet is not taken. The receive path counts them. */
enum roce_drop {
	ROCE_OK,
	ROCE_DROP_SHORT,   /* no BTH and ICRC */
	ROCE_DROP_LENGTH,  /* no multiple of four, or longer than any packet can be */
	ROCE_DROP_VERSION, /* transport version is not 0 */
	ROCE_DROP_OPCODE,  /* no such opcode */
	ROCE_DROP_HEADER,  /* ends inside its extension headers */
	ROCE_DROP_PAD,     /* pad count without payload to pad */
	ROCE_DROP_PAYLOAD, /* length that the opcode does not allow */
	ROCE_DROP_ICRC,
	ROCE_DROP_TRUNCATED, /* the datagram was longer than the buffer */
	ROCE_DROP_PROBE,     /* a steering probe, ours or a neighbour's; no fault of anybody */
	ROCE_DROP_FAULT,     /* by fault injection */
	ROCE_DROP_COUNT,
};

const char *roce_drop_name(enum roce_drop why);

struct roce_payload {
	const uint8_t *data;
	uint32_t len; /* without pad */
	uint8_t pad;
	uint16_t pkey;
};

static inline uint32_t roce_pad(uint32_t payload)
{
	return -payload & 3;
}

enum roce_bth_bits {
	ROCE_BTH_SE = 0x80,
	ROCE_BTH_MIGREQ = 0x40,
	ROCE_BTH_PAD_SHIFT = 4,
	ROCE_BTH_TVER = 0x0f,
	ROCE_BTH_FECN = 0x80,
	ROCE_BTH_BECN = 0x40,
	ROCE_BTH_ACKREQ = 0x80,
};

static inline void roce_put32(uint8_t *to, uint32_t v)
{
	v = htobe32(v);
	memcpy(to, &v, sizeof(v));
}

/* As a big-endian word each: opcode to P_Key, marks and QP, acknowledge request and PSN. */
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

/* What follows the BTH; returns the end. */
uint8_t *roce_encode_headers(const struct roce_pkt *pkt, uint32_t headers, uint8_t *out);

/*
 * Writes BTH and extension headers, at most ROCE_MAX_HEADER bytes; returns how many. pkt->len must
 * suit the opcode (asserted); the caller appends payload, pad (roce_pad) and ICRC.
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

/*
 * `len` bytes from the BTH to the end of the ICRC, whose value is not looked at (icrc.h does).
 * Never reads beyond. On ROCE_OK fills `out` (all of it; what the packet does not carry is 0)
 * and `payload`, which points into `data`; else leaves both alone.
 */
enum roce_drop roce_decode(const uint8_t *data, size_t len, struct roce_pkt *out,
			   struct roce_payload *payload);

#endif
