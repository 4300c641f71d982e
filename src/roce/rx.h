/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Receiving: reads datagrams from an endpoint in batches (recvmmsg, UDP_GRO), checks and decodes every
 * packet in them, and hands good ones to the caller. Bad ones are counted by reason. A receiver may serve
 * many endpoints, one thread at a time.
 */
#ifndef ROCE_RX_H
#define ROCE_RX_H

#include <stdbool.h>
#include <stdint.h>

#include "roce/addr.h"
#include "roce/decode.h"
#include "roce/drop.h"
#include "roce/icrc.h"
#include "roce/packet.h"

struct roce_endpoint;

struct roce_meta {
	struct roce_addr src;
	struct roce_addr dst; /* of multicast: the group; ifindex: the interface it arrived on */
	uint16_t sport;
	uint16_t ip_id; /* IPv4 */
	uint8_t tclass; /* the lower two bits are ECN */
	uint8_t ttl;    /* 64 unless roce_endpoint_enable_ttl() was called */
	bool ipv4;
	bool multicast;
	const uint8_t *raw; /* BTH through ICRC */
	uint32_t raw_len;
};

#define ROCE_ECN(tclass) ((tclass)&3)
enum { ROCE_ECN_NONE, ROCE_ECN_ECT1, ROCE_ECN_ECT0, ROCE_ECN_CE }; /* RFC 3168 */

/*
 * Called for each good packet. Pointers are valid until it returns; it may change `pkt`. UD packets have
 * pkt->ud.roce_kind set, and ROCE_PKT_MCAST when their destination is a group.
 */
typedef void roce_rx_fn(void *arg, struct roce_pkt *pkt, const struct roce_payload *payload,
			const struct roce_meta *meta);

/*
 * The GRH that a UD receive buffer starts with (Annex A17): the IPv6 header, or 20 zeros and the IPv4 header.
 */
void roce_meta_grh(const struct roce_meta *meta, uint8_t grh[40]);

struct roce_rx;

int roce_rx_create(struct roce_rx **out);
void roce_rx_destroy(struct roce_rx *rx);

/*
 * Reads up to `budget` datagrams (at least 1; one may hold 60 packets), unicast first; after polls without
 * any, only one, which is cheaper. Returns how many, or -errno when a socket is broken.
 */
int roce_rx_poll(struct roce_rx *rx, struct roce_endpoint *ep, unsigned int budget, roce_rx_fn *fn,
		 void *arg);

/* As roce_tx_due(): packets that fault injection delays; roce_rx_poll() delivers them. */
uint64_t roce_rx_due(const struct roce_rx *rx);

/*
 * Without a socket, for tests and fuzzing: one datagram of packets of `segment` bytes each (the last may be
 * shorter; 0: one packet). The caller sets all of `meta` but raw and ip_id. Counts drops in `drops`;
 * returns the number of good packets.
 */
uint32_t roce_rx_datagram(const uint8_t *data, size_t len, size_t segment, struct roce_meta *meta,
			  const struct roce_icrc_flow *flow, uint64_t drops[ROCE_DROP_COUNT],
			  roce_rx_fn *fn, void *arg);

#endif
