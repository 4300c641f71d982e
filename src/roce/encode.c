/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/encode.h"

_Static_assert(offsetof(struct roce_pkt, rdma.srqn) == offsetof(struct roce_pkt, atomic.srqn),
	       "the SRQ number has one offset, whatever else the packet carries");

static inline void put64(uint8_t *to, uint64_t v)
{
	v = htobe64(v);
	memcpy(to, &v, sizeof(v));
}

/* Headers of DC, UD, XRC and FLUSH, which precede all others. Returns the end. */
static uint8_t *encode_first(const struct roce_pkt *pkt, uint32_t headers, uint8_t *p)
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
	if (headers & ROCE_HDR_FETH) {
		roce_put32(p, pkt->rdma.feth);
		p += ROCE_FETH_BYTES;
	}
	return p;
}

uint8_t *roce_encode_headers(const struct roce_pkt *pkt, uint32_t headers, uint8_t *p)
{
	if (headers & (ROCE_HDR_DCETH | ROCE_HDR_DETH | ROCE_HDR_XRCETH | ROCE_HDR_FETH))
		p = encode_first(pkt, headers, p);
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
