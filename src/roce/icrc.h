/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The invariant CRC of a RoCEv2 packet (IBTA volume 1, 7.8.1 and annex 17): the CRC-32 of
 * Ethernet over 8 bytes of ones and the packet from its IP header on, with what routers may change
 * set to ones. On the wire it is little-endian.
 *
 * It covers the IPv4 identification, which a UDP socket neither sets nor shows:
 * - The kernel gives 0 to a send of an unconnected socket that forbids fragments, and one more to
 *   each further segment of an UDP_SEGMENT send. So a sender knows it.
 * - A receiver does not, but a CRC is linear: the difference between the ICRC that came and the
 *   one of id 0, taken back by as many steps as there are bytes behind the id, has to be a
 *   16-bit number, and that is the id. So 16 of the 32 bits still protect, besides the UDP
 *   checksum. With IPv6 all 32 do.
 *
 * No state but tables that are filled at first use; any thread.
 */
#ifndef ROCE_ICRC_H
#define ROCE_ICRC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "roce/addr.h"

/* What all packets of one flow have in front of them, condensed. */
struct roce_icrc_flow {
	uint32_t crc;
	bool ipv4;
};

void roce_icrc_flow_init(struct roce_icrc_flow *flow, const struct roce_addr *src,
			 const struct roce_addr *dst, uint16_t sport, uint16_t dport);

/* `len` bytes from the BTH to the pad: a multiple of 4, at least 12. `id` counts with IPv4 only. */
uint32_t roce_icrc_compute(const struct roce_icrc_flow *flow, const uint8_t *packet, size_t len,
			   uint16_t id);

/* How an ICRC changes when the id goes from 0 to `id`; `len` as above. */
uint32_t roce_icrc_id_term(size_t len, uint16_t id);

/*
 * `len` includes the ICRC. True when it is right. *id comes in as a guess, which only saves time,
 * and goes out as the IPv4 id (0 with IPv6; undefined on false).
 */
bool roce_icrc_check(const struct roce_icrc_flow *flow, const uint8_t *packet, size_t len,
		     uint16_t *id);

#endif
