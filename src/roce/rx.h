/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Receiving: takes datagrams from an endpoint in batches (recvmmsg, UDP_GRO), checks and decodes
 * every packet in them, and hands the good ones to the caller. Bad ones are counted by reason at
 * the endpoint. One receiver may serve many endpoints, one thread at a time.
 */
#ifndef ROCE_RX_H
#define ROCE_RX_H

#include <stdbool.h>
#include <stdint.h>

#include "roce/codec.h"
#include "roce/icrc.h"
#include "roce/udp.h"

struct roce_meta {
	struct roce_addr src;
	struct roce_addr dst; /* a group for multicast; ifindex: where it arrived */
	uint16_t sport;
	uint16_t ip_id; /* IPv4 */
	uint8_t tclass; /* the lower two bits are ECN */
	uint8_t ttl;    /* 64 where hops are not heard */
	bool ipv4;
	bool multicast;
	const uint8_t *raw; /* BTH through ICRC */
	uint32_t raw_len;
};

#define ROCE_ECN(tclass) ((tclass)&3)
enum { ROCE_ECN_NONE, ROCE_ECN_ECT1, ROCE_ECN_ECT0, ROCE_ECN_CE };

/*
 * Called for each good packet. All pointers are valid until it returns; the packet is the callee's
 * to add to. Datagrams of RoCE carry pkt->ud.roce_kind, and ROCE_PKT_MCAST when they came to a group.
 */
typedef void roce_rx_fn(void *arg, struct roce_pkt *pkt, const struct roce_payload *payload,
			const struct roce_meta *meta);

/* The 40 bytes that a UD receiver finds in front of the data: IPv6 header, or 20 zeros and IPv4. */
void roce_meta_grh(const struct roce_meta *meta, uint8_t grh[40]);

struct roce_rx;

int roce_rx_create(struct roce_rx **out);
void roce_rx_destroy(struct roce_rx *rx);

/*
 * Takes what is there, at most `budget` datagrams (at least 1; one may hold 60 packets), unicast first;
 * after a pause only one, for the sake of whoever waits for one.
 * Returns how many datagrams it took, 0 when there was none, or -errno when a socket is broken.
 */
int roce_rx_poll(struct roce_rx *rx, struct roce_endpoint *ep, unsigned int budget, roce_rx_fn *fn,
		 void *arg);

/* As roce_tx_due(): packets that fault injection holds back; roce_rx_poll() delivers them. */
uint64_t roce_rx_due(const struct roce_rx *rx);

/*
 * The pure part, for tests and fuzzing: one datagram of `len` bytes that holds packets of `segment`
 * bytes each (the last may be shorter), 0 for one packet. `meta` says all but raw and ip_id. Drops
 * are counted in `drops`. Returns the number of good packets.
 */
uint32_t roce_rx_datagram(const uint8_t *data, size_t len, size_t segment, struct roce_meta *meta,
			  const struct roce_icrc_flow *flow, uint64_t drops[ROCE_DROP_COUNT],
			  roce_rx_fn *fn, void *arg);

#endif
