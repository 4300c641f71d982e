/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Endpoints: UDP port 4791 at one local address. Packets leave through tx.h and arrive through rx.h. There
 * are no threads here; the caller polls the descriptors.
 *
 * An endpoint's main socket receives, and sends unless a path has another source port (tx_socket.h).
 * Several processes of one user may have endpoints at one address; reuseport.h decides which of them
 * receives a packet.
 *
 * Locking: counters are atomic. One thread at a time opens, closes, joins, leaves or attaches.
 */
#ifndef ROCE_ENDPOINT_H
#define ROCE_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "roce/addr.h"
#include "roce/drop.h"

#define ROCE_UDP_PORT 4791

/*
 * QP numbers are given to processes in blocks of 2^8. Packets to QPs of one block may share a UDP_SEGMENT
 * send, which one socket receives.
 */
#define ROCE_QPN_BLOCK_BITS 8

struct roce_inspect;

struct roce_endpoint_opts {
	uint16_t port;   /* 0: ROCE_UDP_PORT */
	uint32_t sndbuf; /* bytes; 0: 8 MiB */
	uint32_t rcvbuf;
	bool no_segment;                    /* no UDP_SEGMENT (benchmarks) */
	bool no_gro;                        /* no UDP_GRO */
	bool exclusive;                     /* no SO_REUSEPORT */
	const struct roce_inspect *inspect; /* capture and faults, or NULL; outlives the endpoint */
};

struct roce_endpoint;

/*
 * -EADDRINUSE when another user, or a program without SO_REUSEPORT, has the port (the explanation names it,
 * where /proc does); -EADDRNOTAVAIL when the address is not local. NULL opts: defaults.
 */
int roce_endpoint_open(const struct roce_addr *local, const struct roce_endpoint_opts *opts,
		       struct roce_endpoint **out);
void roce_endpoint_close(struct roce_endpoint *ep);

/* The main socket. Readable: packets for this address. Writable: there is room again after -EAGAIN. */
int roce_endpoint_fd(const struct roce_endpoint *ep);
/* An epoll descriptor. Readable: packets for a group that was joined (group.h). */
int roce_endpoint_group_fd(const struct roce_endpoint *ep);
/* Whether the main socket is readable. A system call. */
bool roce_endpoint_has_packets(const struct roce_endpoint *ep);
/* Whether unread packets fill more than half of the main socket. A system call. */
bool roce_endpoint_is_half_full(const struct roce_endpoint *ep);

const struct roce_addr *roce_endpoint_addr(const struct roce_endpoint *ep);
/* The address has moved to another interface: multicast packets leave by that one from now on. */
void roce_endpoint_update_interface(struct roce_endpoint *ep);
/* The InfiniBand MTU of the interface, 256 to 4096, as it is now. */
uint32_t roce_endpoint_mtu(const struct roce_endpoint *ep);

struct roce_endpoint_limits {
	uint32_t sndbuf; /* bytes, as the kernel accounts them */
	uint32_t rcvbuf;
	bool segment; /* UDP_SEGMENT is in use; goes off when an interface refuses it */
	bool gro;
};

void roce_endpoint_limits(const struct roce_endpoint *ep, struct roce_endpoint_limits *out);

/*
 * From now on roce_meta.ttl is the TTL of received packets; before, it is 64. Each packet costs more then, so
 * only receivers of datagrams, captures, and processes that share a port enable it.
 */
void roce_endpoint_enable_ttl(struct roce_endpoint *ep);

struct roce_counters {
	uint64_t tx_packets;
	uint64_t tx_bytes; /* BTH through ICRC */
	uint64_t tx_calls; /* system calls */
	uint64_t tx_full;  /* sends that found no room in the socket */
	uint64_t tx_lost;  /* packets that the kernel refused: no route, too long, forbidden */
	uint64_t rx_packets;
	uint64_t rx_bytes;
	uint64_t rx_calls;
	uint64_t rx_full; /* packets that the kernel dropped because a socket was full */
	uint64_t rx_drop[ROCE_DROP_COUNT];
};

void roce_endpoint_counters(const struct roce_endpoint *ep, struct roce_counters *out);

#endif
