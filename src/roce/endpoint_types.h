/* SPDX-License-Identifier: BSD-2-Clause */
/* An endpoint, for the files of this folder that share it; and how they count. */
#ifndef ROCE_ENDPOINT_TYPES_H
#define ROCE_ENDPOINT_TYPES_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>

#include "roce/addr.h"
#include "roce/drop.h"
#include "util/api.h"

/* TTL, or hop limit, of packets that do not say otherwise. */
#define ROCE_TTL 64

/* Send sockets of an endpoint beside its main one. */
#define ROCE_MAX_TX_SOCKETS 320
/*
 * Send sockets of these that peer hosts, and flows with a label, are spread over; the rest is for ports that
 * programs choose.
 */
#define ROCE_HOST_TX_SOCKETS 64
#define ROCE_FLOW_TX_SOCKETS 32

struct roce_inspect;
struct roce_tx;
struct roce_rx;

/* Counters of the data path. */
struct roce_io_count {
	_Atomic uint64_t packets, bytes, calls;
};

/* A multicast group (group.c). */
struct roce_group {
	LIST_ENTRY(roce_group) link;
	struct roce_addr addr;
	unsigned int joined; /* joins less leaves */
	int fd;
};

/*
 * A send socket. The kernel applies tclass, ttl and segment to sends without control messages; only
 * ep->primary_tx reads and changes them (tx_send.c).
 */
struct roce_tx_socket {
	int fd;
	uint16_t port;
	uint8_t tclass, ttl;
	uint16_t segment; /* UDP_SEGMENT; 0: off */
	/* Evidence for other defaults: sends in a row with another tclass or TTL; with `next_segment`. */
	uint8_t other_ip;
	uint8_t other_segment;
	uint16_t next_segment;
	uint32_t ifindex; /* packets leave by this interface; 0: as the routes say */
};

struct roce_endpoint {
	struct roce_addr local;
	uint16_t port;
	bool ipv4;
	bool gro;
	bool exclusive;      /* no SO_REUSEPORT */
	atomic_bool rx_ttl;  /* TTLs of received packets are reported */
	atomic_bool segment; /* UDP_SEGMENT may be used */
	int fd;              /* main socket; the same as tx_socket[0].fd */
	/* Bytes: as asked for (0: default), and as the kernel granted. */
	uint32_t sndbuf_wish, rcvbuf_wish;
	uint32_t sndbuf, rcvbuf;
	const struct roce_inspect *inspect; /* never NULL */

	/* Send sockets, the main one first. Added under the lock, closed with the endpoint. */
	_Atomic uint16_t tx_sockets;
	pthread_mutex_t tx_socket_lock;
	struct roce_tx_socket tx_socket[1 + ROCE_MAX_TX_SOCKETS];
	uint16_t tx_socket_by_host
		[ROCE_HOST_TX_SOCKETS];                /* index, by hash of the address; 0: none */
	uint16_t flow_tx_socket[ROCE_FLOW_TX_SOCKETS]; /* index, in the order of their opening */
	unsigned int flow_tx_sockets;

	/* The first batch and the first receiver of the endpoint: nearly all packets are theirs. */
	_Atomic(const struct roce_tx *) primary_tx;
	_Atomic(const struct roce_rx *) primary_rx;

	/* Multicast groups; group_lock protects the list, and its members while they are read. */
	pthread_mutex_t group_lock;
	LIST_HEAD(, roce_group) groups;
	int group_fd; /* epoll over all groups */
	atomic_bool has_groups;

	/* Reuseport probes: cookie of the latest round; index of our socket, -1 while unknown. */
	_Atomic uint64_t cookie;
	_Atomic int64_t index;

	struct {
		_Atomic uint64_t tx_full, tx_lost;
		_Atomic uint64_t group_drops; /* of groups that were left */
		_Atomic uint64_t rx_drop[ROCE_DROP_COUNT];
		/* [1] is written by the primary batch and receiver alone, [0] by all others */
		struct roce_io_count tx[2], rx[2];
	} count;
};

static inline void roce_count(_Atomic uint64_t *counter, uint64_t n)
{
	if (n)
		atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

/* For a counter with one writer: an atomic addition would cost as much as decoding a header. */
static inline void roce_count_owned(_Atomic uint64_t *counter, uint64_t n)
{
	uint64_t old = atomic_load_explicit(counter, memory_order_relaxed);

	atomic_store_explicit(counter, old + n, memory_order_relaxed);
}

static inline void roce_count_call(struct roce_io_count count[2], bool primary)
{
	if (likely(primary))
		roce_count_owned(&count[1].calls, 1);
	else
		roce_count(&count[0].calls, 1);
}

static inline void roce_count_packets(struct roce_io_count count[2], bool primary, uint64_t packets,
				      uint64_t bytes)
{
	if (likely(primary)) {
		roce_count_owned(&count[1].packets, packets);
		roce_count_owned(&count[1].bytes, bytes);
	} else {
		roce_count(&count[0].packets, packets);
		roce_count(&count[0].bytes, bytes);
	}
}

#endif
