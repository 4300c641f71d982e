/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Headers of datagram rsockets, as rdma-core has them. Both carry the address of the sender.
 *
 * In front of data on a UD queue pair:  version, length, port, address (IPv6: flow information first).
 * In front of UDP messages:             tag, version, operation, length, 0, queue pair, address.
 *
 * version is 4 or 6, and length that of the header; numbers are big-endian.
 */
#ifndef RSOCKET_DGRAM_WIRE_H
#define RSOCKET_DGRAM_WIRE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

union rs_addr {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

/* The bytes of it that count. */
static inline socklen_t rs_addr_len(const union rs_addr *addr)
{
	return addr->sa.sa_family == AF_INET ? sizeof(addr->in) : sizeof(addr->in6);
}

/* Both as rs_addr_set() leaves them. */
bool rs_addr_equal(const union rs_addr *a, const union rs_addr *b);
/* An address of the program's or the kernel's, without what does not count; -EINVAL, -EAFNOSUPPORT. */
int rs_addr_set(union rs_addr *out, const struct sockaddr *addr, socklen_t len);

#define RS_UD_HEADER_MAX  24
#define RS_UDP_HEADER_MAX 28

/* Encode a header; its length. */
size_t rs_ud_header_encode(const union rs_addr *from, uint8_t to[RS_UD_HEADER_MAX]);
/* The header's length, or -EPROTO. */
int rs_ud_header_decode(const void *data, size_t len, union rs_addr *from);

enum rs_udp_op {
	RS_UDP_DATA = 0, /* a datagram for a peer whose queue pair is not known */
	RS_UDP_CTRL = 7, /* the answer to one */
};

size_t rs_udp_header_encode(enum rs_udp_op op, uint32_t qpn, const union rs_addr *from,
			    uint8_t to[RS_UDP_HEADER_MAX]);
/* The header's length, or -EPROTO. The sender's address is that of the UDP message. */
int rs_udp_header_decode(const void *data, size_t len, int family, enum rs_udp_op *op,
			 uint32_t *qpn);

#endif
