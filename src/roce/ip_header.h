/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The one writer of IP headers: for the ICRC, captures, and the GRH that a UD receiver sees. Addresses are
 * GIDs; an IPv4 address is the last four bytes of a mapped one. No state; any thread.
 */
#ifndef ROCE_IP_HEADER_H
#define ROCE_IP_HEADER_H

#include <stddef.h>
#include <stdint.h>

enum {
	ROCE_IPV4_BYTES = 20,
	ROCE_IPV6_BYTES = 40,
	ROCE_UDP_BYTES = 8,
};

struct roce_ip {
	const uint8_t *src; /* GID, 16 bytes */
	const uint8_t *dst;
	uint32_t flow_label; /* IPv6 */
	uint16_t id;         /* IPv4 */
	uint8_t tclass;
	uint8_t ttl;
	uint8_t proto;
};

/* Big-endian. */
static inline void roce_put16(uint8_t *to, uint16_t v)
{
	to[0] = v >> 8;
	to[1] = v;
}

/* RFC 791, without options, "don't fragment" set. `total_len` counts the header. */
void roce_put_ipv4(uint8_t out[ROCE_IPV4_BYTES], const struct roce_ip *ip, uint16_t total_len);
/* RFC 8200. `payload_len` does not count the header. */
void roce_put_ipv6(uint8_t out[ROCE_IPV6_BYTES], const struct roce_ip *ip, uint16_t payload_len);

/* Internet checksum (RFC 1071): adds `data` to a sum that starts at 0, and completes it. */
uint32_t roce_checksum_add(uint32_t sum, const uint8_t *data, size_t len);
uint16_t roce_checksum_finish(uint32_t sum);

#endif
