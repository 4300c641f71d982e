/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Byte offsets, from IBTA volume 1, chapter 9. All numbers are big-endian.
 *
 *	BTH        0 opcode  1 SE|M|pad:2|TVer:4  2-3 P_Key  4 FECN|BECN|0:6  5-7 QP
 *	           8 A|0:7   9-11 PSN
 *	DCETH      0-7 access key  8 0  9-11 source QP  12-15 session  16 0  17-19 its first PSN
 *	DETH       0-3 Q_Key  4 0  5-7 source QP
 *	XRCETH     0 0  1-3 XRC SRQ
 *	RETH       0-7 address  8-11 R_Key  12-15 length
 *	AtomicETH  0-7 address  8-11 R_Key  12-19 swap or add  20-27 compare
 *	AETH       0 syndrome  1-3 MSN
 *	AtomicAck  0-7 original value
 *	ImmDt, IETH  0-3
 */
#include "roce/codec.h"

#include <assert.h>
#include <endian.h>
#include <string.h>

#include "roce/decode.h"
#include "util/api.h"

_Static_assert(offsetof(struct roce_pkt, rdma.srqn) == offsetof(struct roce_pkt, atomic.srqn),
	       "the SRQ number has one place, whatever else the packet carries");

static inline void put64(uint8_t *to, uint64_t v)
{
	v = htobe64(v);
	memcpy(to, &v, sizeof(v));
}

const char *roce_drop_name(enum roce_drop why)
{
	static const char *const names[] = {
		[ROCE_OK] = "none",
		[ROCE_DROP_SHORT] = "shorter than BTH and ICRC",
		[ROCE_DROP_LENGTH] = "bad length",
		[ROCE_DROP_VERSION] = "unknown transport version",
		[ROCE_DROP_OPCODE] = "unknown opcode",
		[ROCE_DROP_HEADER] = "incomplete headers",
		[ROCE_DROP_PAD] = "bad pad count",
		[ROCE_DROP_PAYLOAD] = "payload of a length that the opcode forbids",
		[ROCE_DROP_ICRC] = "bad ICRC",
		[ROCE_DROP_TRUNCATED] = "longer than any packet",
		[ROCE_DROP_PROBE] = "steering probe",
		[ROCE_DROP_FAULT] = "fault injection",
	};

	_Static_assert(array_size(names) == ROCE_DROP_COUNT, "every reason has a name");
	return (unsigned int)why < ROCE_DROP_COUNT ? names[why] : "?";
}

/* What says whom the packet is from or for. Returns the end. */
static uint8_t *encode_front(const struct roce_pkt *pkt, uint32_t headers, uint8_t *p)
{
	if (headers & ROCE_HDR_DCETH) {
		put64(p, pkt->dc.key);
		roce_put32(p + 8, pkt->sqpn & 0xffffff);
		roce_put32(p + 12, pkt->dc.session);
		roce_put32(p + 16, pkt->dc.first_psn & PSN_MASK);
		p += ROCE_DCETH_BYTES;
	}
	if (headers & ROCE_HDR_DETH) {
		roce_put32(p, pkt->ud.qkey);
		roce_put32(p + 4, pkt->sqpn & 0xffffff);
		p += ROCE_DETH_BYTES;
	}
	if (headers & ROCE_HDR_XRCETH) {
		roce_put32(p, pkt->rdma.srqn & 0xffffff);
		p += ROCE_XRCETH_BYTES;
	}
	return p;
}

/* Those that are rare are looked for together. */
uint8_t *roce_encode_headers(const struct roce_pkt *pkt, uint32_t headers, uint8_t *p)
{
	if (headers & (ROCE_HDR_DCETH | ROCE_HDR_DETH | ROCE_HDR_XRCETH))
		p = encode_front(pkt, headers, p);
	if (headers & ROCE_HDR_RETH) {
		put64(p, pkt->rdma.va);
		roce_put32(p + 8, pkt->rdma.rkey);
		roce_put32(p + 12, pkt->rdma.dma_len);
		p += ROCE_RETH_BYTES;
	}
	if (headers & ROCE_HDR_AETH) {
		roce_put32(p, pkt->ack.syndrome << 24 | (pkt->ack.msn & 0xffffff));
		p += ROCE_AETH_BYTES;
	}
	if (likely(!(headers & (ROCE_HDR_ATOMICETH | ROCE_HDR_ATOMICACKETH | ROCE_HDR_IMMDT |
				ROCE_HDR_IETH))))
		return p;
	/* No opcode has this one and an AETH. */
	if (headers & ROCE_HDR_ATOMICETH) {
		put64(p, pkt->atomic.va);
		roce_put32(p + 8, pkt->atomic.rkey);
		put64(p + 12, pkt->atomic.swap);
		put64(p + 20, pkt->atomic.compare);
		p += ROCE_ATOMICETH_BYTES;
	}
	if (headers & ROCE_HDR_ATOMICACKETH) {
		put64(p, pkt->ack.orig);
		p += ROCE_ATOMICACKETH_BYTES;
	}
	if (headers & ROCE_HDR_IMMDT) {
		memcpy(p, &pkt->imm, ROCE_IMMDT_BYTES);
		p += ROCE_IMMDT_BYTES;
	}
	if (headers & ROCE_HDR_IETH) {
		roce_put32(p, pkt->imm);
		p += ROCE_IETH_BYTES;
	}
	return p;
}

enum roce_drop roce_decode(const uint8_t *data, size_t len, struct roce_pkt *out,
			   struct roce_payload *payload)
{
	return roce_decode_inline(data, len, out, payload);
}
