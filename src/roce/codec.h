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

#include <stddef.h>
#include <stdint.h>

#include "roce/opcode.h"
#include "roce/packet.h"

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

/*
 * Writes BTH and extension headers, at most ROCE_MAX_HEADER bytes; returns how many. pkt->len must
 * suit the opcode (asserted); the caller appends payload, pad (roce_pad) and ICRC.
 */
size_t roce_encode(const struct roce_pkt *pkt, uint16_t pkey, uint8_t *out);

static inline uint32_t roce_pad(uint32_t payload)
{
	return -payload & 3;
}

/*
 * `len` bytes from the BTH to the end of the ICRC, whose value is not looked at (icrc.h does).
 * Never reads beyond. On ROCE_OK fills `out` (all of it; what the packet does not carry is 0)
 * and `payload`, which points into `data`; else leaves both alone.
 */
enum roce_drop roce_decode(const uint8_t *data, size_t len, struct roce_pkt *out,
			   struct roce_payload *payload);

#endif
