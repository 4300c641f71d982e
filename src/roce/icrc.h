/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The invariant CRC of a RoCEv2 packet (IBTA vol 1 r1.4, 7.8.1 and Annex A17): the CRC-32 of Ethernet over
 * 8 bytes of ones and the packet from its IP header on, with fields that routers change set to ones. On the
 * wire it is little-endian.
 *
 * It covers the IPv4 identification, which a UDP socket neither sets nor reports:
 * - Sender: the kernel gives id 0 to a send of an unconnected socket that forbids fragments (RFC 6864),
 *   and one more to each further segment of a UDP_SEGMENT send, so the id is known.
 * - Receiver: a CRC is linear, so the difference between the received ICRC and that of id 0, divided by
 *   the power of x for the bytes after the id, must be a 16-bit number, which is the id. So only 16 of
 *   the 32 bits protect an IPv4 packet, besides the UDP checksum; with IPv6 all 32 do.
 *
 * No state but tables that are filled once, by the first flow; any thread.
 */
#ifndef ROCE_ICRC_H
#define ROCE_ICRC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "roce/addr.h"

/* CRC of the headers in front of the BTH, which all packets of a flow share. */
struct roce_icrc_flow {
	uint32_t crc;
	bool ipv4;
};

void roce_icrc_flow_init(struct roce_icrc_flow *flow, const struct roce_addr *src,
			 const struct roce_addr *dst, uint16_t sport, uint16_t dport);

/* `len` bytes from the BTH to the pad: a multiple of 4, at least 12. `id` is used with IPv4 only. */
uint32_t roce_icrc_compute(const struct roce_icrc_flow *flow, const uint8_t *packet, size_t len,
			   uint16_t id);

/* The difference between the ICRCs of `id` and id 0; `len` as above. */
uint32_t roce_icrc_id_term(size_t len, uint16_t id);

/*
 * True when the ICRC is right; `len` includes it. *id is a guess on entry, which only saves time, and
 * the IPv4 id on return (0 with IPv6; undefined on false).
 */
bool roce_icrc_check(const struct roce_icrc_flow *flow, const uint8_t *packet, size_t len,
		     uint16_t *id);

#endif
