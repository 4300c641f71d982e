/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Addresses as RoCEv2 names them: a GID is an IPv6 address, or an IPv4 one mapped into it
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
	uint32_t ifindex; /* needed for link-local and multicast addresses; else 0 is fine */
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

/* "10.0.0.1", "fe80::1%eth0" (or %3); -EINVAL otherwise. */
int roce_addr_parse(const char *text, struct roce_addr *out);
/* Returns `text`, which has ROCE_ADDR_TEXT bytes. */
const char *roce_addr_format(const struct roce_addr *a, char *text);

/* Returns the length of what it wrote; the rest is zero. */
socklen_t roce_addr_to_sockaddr(const struct roce_addr *a, uint16_t port, union roce_sockaddr *out);
/* False for a family that is neither IPv4 nor IPv6. */
bool roce_addr_from_sockaddr(const union roce_sockaddr *from, struct roce_addr *out,
			     uint16_t *port);

/* The interface that has this local address; -EADDRNOTAVAIL when none has. */
int roce_addr_interface(const struct roce_addr *a, uint32_t *ifindex);
/* MTU of an interface in bytes. */
int roce_interface_mtu(uint32_t ifindex, uint32_t *mtu);
/*
 * The largest InfiniBand MTU (256 to 4096) whose packets, with all headers, fit `mtu` bytes of IP;
 * 0 when not even 256 does.
 */
uint32_t roce_mtu_from_ip(uint32_t mtu);

#endif
