/* SPDX-License-Identifier: BSD-2-Clause */
/* From the bytes of a UDP payload to struct roce_pkt. No state; any thread. header.h lists the offsets. */
#ifndef ROCE_DECODE_H
#define ROCE_DECODE_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "roce/drop.h"
#include "roce/header.h"
#include "roce/opcode.h"
#include "roce/packet.h"
#include "util/api.h"

struct roce_payload {
	const uint8_t *data;
	uint32_t len; /* without pad */
	uint8_t pad;
	uint16_t pkey;
};

static inline uint32_t roce_get32(const uint8_t *from)
{
	uint32_t v;

	memcpy(&v, from, sizeof(v));
	return be32toh(v);
}

static inline uint64_t roce_get64(const uint8_t *from)
{
	uint64_t v;

	memcpy(&v, from, sizeof(v));
	return be64toh(v);
}

/* `first` is the first of the BTH's three big-endian words (see roce_encode_bth()). */
static inline void roce_decode_bth(uint32_t first, const uint8_t *data, struct roce_pkt *out)
{
	uint32_t second = roce_get32(data + 4), third = roce_get32(data + 8);

	out->op = first >> 24;
	out->flags = (first & ROCE_BTH_SE << 16 ? ROCE_PKT_SOLICITED : 0) |
		     (third & (uint32_t)ROCE_BTH_ACKREQ << 24 ? ROCE_PKT_ACK_REQ : 0);
	if (unlikely(first & ROCE_BTH_MIGREQ << 16 ||
		     second & (uint32_t)(ROCE_BTH_FECN | ROCE_BTH_BECN) << 24))
		out->flags |= (first & ROCE_BTH_MIGREQ << 16 ? ROCE_PKT_MIGREQ : 0) |
			      (second & (uint32_t)ROCE_BTH_FECN << 24 ? ROCE_PKT_FECN : 0) |
			      (second & ROCE_BTH_BECN << 24 ? ROCE_PKT_BECN : 0);
	out->dqpn = second & 0xffffff;
	out->psn = third & PSN_MASK;
}

/* Headers of DC, UD, XRC and FLUSH, which precede all others. Returns the end. */
static inline const uint8_t *roce_decode_first(const uint8_t *p, uint32_t headers,
					       struct roce_pkt *out)
{
	if (headers & ROCE_HDR_DCETH) {
		out->dc.key = roce_get64(p);
		out->sqpn = roce_get32(p + 8) & 0xffffff;
		out->dc.session = roce_get32(p + 12);
		out->dc.first_psn = roce_get32(p + 16) & PSN_MASK;
		p += ROCE_DCETH_BYTES;
	}
	if (headers & ROCE_HDR_DETH) {
		out->ud.qkey = roce_get32(p);
		out->sqpn = roce_get32(p + 4) & 0xffffff;
		p += ROCE_DETH_BYTES;
	}
	if (headers & ROCE_HDR_XRCETH) {
		out->rdma.srqn = roce_get32(p) & 0xffffff;
		p += ROCE_XRCETH_BYTES;
	}
	if (headers & ROCE_HDR_FETH) {
		out->rdma.feth = roce_get32(p);
		p += ROCE_FETH_BYTES;
	}
	return p;
}

/* All of `headers` are known to lie inside the packet. */
static inline void roce_decode_headers(const uint8_t *p, uint32_t headers, struct roce_pkt *out)
{
	if (unlikely(headers & (ROCE_HDR_DCETH | ROCE_HDR_DETH | ROCE_HDR_XRCETH | ROCE_HDR_FETH)))
		p = roce_decode_first(p, headers, out);
	if (headers & ROCE_HDR_RETH) {
		out->rdma.va = roce_get64(p);
		out->rdma.rkey = roce_get32(p + 8);
		out->rdma.dma_len = roce_get32(p + 12);
		p += ROCE_RETH_BYTES;
	}
	if (headers & ROCE_HDR_AETH) {
		uint32_t aeth = roce_get32(p);

		out->ack.syndrome = aeth >> 24;
		out->ack.msn = aeth & 0xffffff;
		p += ROCE_AETH_BYTES;
	}
	if (likely(!(headers & (ROCE_HDR_ATOMICETH | ROCE_HDR_ATOMICACKETH | ROCE_HDR_IMMDT |
				ROCE_HDR_IETH))))
		return;
	if (headers & ROCE_HDR_ATOMICETH) {
		out->atomic.va = roce_get64(p);
		out->atomic.rkey = roce_get32(p + 8);
		out->atomic.swap = roce_get64(p + 12);
		out->atomic.compare = roce_get64(p + 20);
		p += ROCE_ATOMICETH_BYTES;
	}
	if (headers & ROCE_HDR_ATOMICACKETH) {
		out->ack.orig = roce_get64(p);
		p += ROCE_ATOMICACKETH_BYTES;
	}
	if (headers & ROCE_HDR_IMMDT)
		memcpy(&out->imm, p, ROCE_IMMDT_BYTES);
	if (headers & ROCE_HDR_IETH)
		out->imm = roce_get32(p);
}

/* As roce_decode(), for the receive path: a function call there costs a fifth of a packet's time. */
static inline enum roce_drop roce_decode_inline(const uint8_t *data, size_t len,
						struct roce_pkt *out, struct roce_payload *payload)
{
	const struct roce_opcode_info *info;
	uint32_t first, pad, rest;

	if (unlikely(len < ROCE_MIN_PACKET))
		return ROCE_DROP_SHORT;
	if (unlikely(len > ROCE_MAX_PACKET || len & 3))
		return ROCE_DROP_LENGTH;
	first = roce_get32(data);
	if (unlikely(first & ROCE_BTH_TVER << 16))
		return ROCE_DROP_VERSION;
	info = roce_opcode_find(first >> 24);
	if (unlikely(!info))
		return ROCE_DROP_OPCODE;
	if (unlikely(len < (size_t)info->length + ROCE_ICRC_BYTES))
		return ROCE_DROP_HEADER;
	rest = len - info->length - ROCE_ICRC_BYTES;
	pad = first >> (16 + ROCE_BTH_PAD_SHIFT) & 3;
	/* Since the length is a multiple of four, a payload is longer than its pad, or there is none. */
	if (unlikely(pad > rest))
		return ROCE_DROP_PAD;
	if (unlikely(!roce_payload_allowed(info->payload, rest - pad)))
		return ROCE_DROP_PAYLOAD;

	memset(out, 0, sizeof(*out));
	roce_decode_bth(first, data, out);
	out->len = rest - pad;
	payload->data = data + info->length;
	payload->len = rest - pad;
	payload->pad = pad;
	payload->pkey = first;
	if (info->headers)
		roce_decode_headers(data + ROCE_BTH_BYTES, info->headers, out);
	return ROCE_OK;
}

/*
 * Decodes `len` bytes from the BTH to the end of the ICRC; icrc.h checks the ICRC itself. Reads nothing
 * beyond. On ROCE_OK fills all of `out` (with 0 where the packet has no such header) and `payload`,
 * which points into `data`; otherwise writes neither.
 */
enum roce_drop roce_decode(const uint8_t *data, size_t len, struct roce_pkt *out,
			   struct roce_payload *payload);

#endif
