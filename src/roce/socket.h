/* SPDX-License-Identifier: BSD-2-Clause */
/* The UDP sockets of an endpoint, and their options. No state; any thread. */
#ifndef ROCE_SOCKET_H
#define ROCE_SOCKET_H

#include <stdbool.h>
#include <stdint.h>

#include "roce/addr.h"

struct roce_endpoint;

enum roce_socket_kind {
	ROCE_SOCKET_MAIN,
	ROCE_SOCKET_TX,    /* sends only */
	ROCE_SOCKET_GROUP, /* receives multicast packets */
};

/* A bound socket of the endpoint's IP version, or -errno, without an explanation. */
int roce_socket_open(const struct roce_endpoint *ep, enum roce_socket_kind kind,
		     const struct roce_addr *bind_to, uint16_t port);

/* Has the TTL come with every received packet. */
int roce_socket_enable_ttl(int fd, bool ipv4);
/* Multicast packets of the endpoint leave by this interface. */
void roce_socket_set_interface(int fd, const struct roce_endpoint *ep, uint32_t ifindex);
/* Unicasts leave by this interface; 0: as the routes say. */
void roce_socket_set_link(int fd, const struct roce_endpoint *ep, uint32_t ifindex);

/* Whether the kernel has UDP_SEGMENT (Linux 4.18). */
bool roce_socket_can_segment(int fd);
/* SO_SNDBUF or SO_RCVBUF, in bytes. */
uint32_t roce_socket_buffer(int fd, int option);
/* Packets that the kernel dropped because the socket was full; 0 before Linux 4.12. */
uint32_t roce_socket_drops(int fd);
/* Whether unread packets fill more than half of it. */
bool roce_socket_is_half_full(int fd);

#endif
