/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RoCEv2 addresses (Annex A17): a GID is an IPv6 address, or an IPv4 address mapped into one
 * (::ffff:a.b.c.d), multicast groups included. No state; any thread.
 */
#ifndef ROCE_ADDR_H
#define ROCE_ADDR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <netinet/in.h>
#include <sys/socket.h>

#define ROCE_ADDR_TEXT 64

struct roce_addr {
	uint8_t gid[16];
	uint32_t ifindex; /* of link-local and multicast addresses; 0: unknown */
};

union roce_sockaddr {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static inline bool roce_addr_is_ipv4(const struct roce_addr *a)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(a->gid, mapped, sizeof(mapped));
}

static inline bool roce_addr_is_multicast(const struct roce_addr *a)
{
	return roce_addr_is_ipv4(a) ? (a->gid[12] & 0xf0) == 0xe0 : a->gid[0] == 0xff;
}

/* Parses "10.0.0.1", "fe80::1%eth0" or "fe80::1%3". -EINVAL. */
int roce_addr_parse(const char *text, struct roce_addr *out);
/* Returns `text`, which has ROCE_ADDR_TEXT bytes. */
const char *roce_addr_format(const struct roce_addr *a, char *text);

/* Returns the length of the address; the rest of *out is zero. */
socklen_t roce_addr_to_sockaddr(const struct roce_addr *a, uint16_t port, union roce_sockaddr *out);
/* False when the family is neither IPv4 nor IPv6. */
bool roce_addr_from_sockaddr(const union roce_sockaddr *from, struct roce_addr *out,
			     uint16_t *port);

/* The interface that has this local address; -EADDRNOTAVAIL when none has. */
int roce_addr_interface(const struct roce_addr *a, uint32_t *ifindex);
/* MTU of an interface, in bytes of IP. -errno. */
int roce_interface_mtu(uint32_t ifindex, uint32_t *mtu);
/*
 * The largest InfiniBand MTU (256 to 4096) whose packets, with all headers, fit `mtu` bytes of IP; 0 when
 * 256 does not.
 */
uint32_t roce_mtu_from_ip(uint32_t mtu);

#endif
