/* SPDX-License-Identifier: BSD-2-Clause */
#include "cm/ip_header.h"

#include <netinet/in.h>
#include <string.h>

/*
 * Places in the header. The high 4 bits of byte 1 are the IP version, the low 4 are reserved. An
 * IPv4 address is the last 4 of 16 bytes, after zeros.
 */
enum {
	AT_VERSION = 0,
	AT_IP_VERSION = 1,
	AT_SRC_PORT = 2,
	AT_SRC = 4,
	AT_DST = 20,
	ADDR = 16,
};

#define VERSION 0

static void put_addr(const struct sockaddr *addr, uint8_t *out)
{
	if (addr->sa_family == AF_INET)
		memcpy(out + ADDR - 4, &((const struct sockaddr_in *)addr)->sin_addr, 4);
	else
		memcpy(out, &((const struct sockaddr_in6 *)addr)->sin6_addr, ADDR);
}

void ip_header_put(const struct sockaddr *src, const struct sockaddr *dst,
		   uint8_t out[IP_HEADER_BYTES])
{
	const bool is_ipv4 = src->sa_family == AF_INET;
	const in_port_t port = is_ipv4 ? ((const struct sockaddr_in *)src)->sin_port
				       : ((const struct sockaddr_in6 *)src)->sin6_port;

	memset(out, 0, IP_HEADER_BYTES);
	out[AT_VERSION] = VERSION;
	out[AT_IP_VERSION] = (is_ipv4 ? 4 : 6) << 4;
	memcpy(out + AT_SRC_PORT, &port, sizeof(port));
	put_addr(src, out + AT_SRC);
	put_addr(dst, out + AT_DST);
}

/* The port is in network order. */
static void get_ipv4(const uint8_t *in, in_port_t port, struct sockaddr_storage *out)
{
	struct sockaddr_in *addr = (struct sockaddr_in *)out;

	memset(out, 0, sizeof(*out));
	addr->sin_family = AF_INET;
	addr->sin_port = port;
	memcpy(&addr->sin_addr, in + ADDR - 4, 4);
}

static void get_ipv6(const uint8_t *in, in_port_t port, struct sockaddr_storage *out)
{
	struct sockaddr_in6 *addr = (struct sockaddr_in6 *)out;

	memset(out, 0, sizeof(*out));
	addr->sin6_family = AF_INET6;
	addr->sin6_port = port;
	memcpy(&addr->sin6_addr, in, ADDR);
}

bool ip_header_get(const uint8_t in[IP_HEADER_BYTES], uint16_t dst_port,
		   struct sockaddr_storage *src, struct sockaddr_storage *dst)
{
	in_port_t src_port;

	if (in[AT_VERSION] != VERSION)
		return false;
	memcpy(&src_port, in + AT_SRC_PORT, sizeof(src_port));
	switch (in[AT_IP_VERSION] >> 4) {
	case 4:
		get_ipv4(in + AT_SRC, src_port, src);
		get_ipv4(in + AT_DST, htons(dst_port), dst);
		return true;
	case 6:
		get_ipv6(in + AT_SRC, src_port, src);
		get_ipv6(in + AT_DST, htons(dst_port), dst);
		return true;
	default:
		return false;
	}
}
