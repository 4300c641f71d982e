/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sending: a path says where packets go, a batch collects them and puts them on the wire with as
 * few system calls as possible: neighbours of one path and length leave as one UDP_SEGMENT send,
 * and all sends of a batch by one sendmmsg.
 *
 * A packet is copied when it is added, and its ICRC is that of the copy: memory that changes
 * meanwhile (someone polls a counter by RDMA READ) cannot spoil it, and the payload's memory is
 * free at once. A batch belongs to one thread at a time; several may feed one endpoint.
 */
#ifndef ROCE_TX_H
#define ROCE_TX_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "roce/icrc.h"
#include "roce/udp.h"

struct roce_dest {
	struct roce_addr addr; /* a host, or a multicast group */
	uint16_t port;         /* 0: that of the endpoint, 4791 */
	uint16_t pkey;         /* 0: ROCE_PKEY_DEFAULT */
	uint8_t tclass;        /* with the ECN bits */
	uint8_t ttl;           /* 0: 64 */
	uint16_t sport;        /* one that was opened for it (udp.h); 0: that of the endpoint */
};

/* Prepared once per QP or address handle; for the endpoint it was made with. A plain value. */
struct roce_path {
	struct roce_icrc_flow icrc;
	struct roce_addr dst;
	/* How it leaves: packets for which this is equal, byte by byte, may share a send. */
	struct roce_route {
		union roce_sockaddr to;
		uint16_t to_len;
		uint16_t socket;
		uint8_t tclass;
		uint8_t ttl;
		bool group; /* for which sockets have another TTL */
		uint8_t zero;
	} route;
	uint16_t sport;
	uint16_t dport;
	uint16_t pkey;
};

_Static_assert(sizeof(struct roce_route) == sizeof(union roce_sockaddr) + 8, "no holes");

/* -EINVAL when the endpoint speaks the other IP version. */
int roce_path_init(struct roce_path *path, const struct roce_endpoint *ep,
		   const struct roce_dest *dest);

struct roce_tx;

int roce_tx_create(struct roce_endpoint *ep, struct roce_tx **out);
/* What has not left is lost. */
void roce_tx_destroy(struct roce_tx *tx);

/*
 * Adds one packet; pkt->len is the sum of the pieces. -EAGAIN when the batch is full and the socket
 * takes no more: nothing was added; wait until the endpoint is writable. A full batch is flushed by
 * itself when there is room.
 */
int roce_tx_add(struct roce_tx *tx, const struct roce_path *path, const struct roce_pkt *pkt,
		const struct iovec *pieces, size_t count);

/* 0 when everything is out; -EAGAIN when some is left (flush again when the endpoint is writable).
 */
int roce_tx_flush(struct roce_tx *tx);

/* Packets that have been added and have not left. */
uint32_t roce_tx_pending(const struct roce_tx *tx);
/* Forgets them. */
void roce_tx_reset(struct roce_tx *tx);

/*
 * Fault injection may hold packets back: when the next is due, in CLOCK_MONOTONIC nanoseconds, and
 * UINT64_MAX when none is. roce_tx_flush() sends those that are.
 */
uint64_t roce_tx_due(const struct roce_tx *tx);
/* Sends them before their time, because there will be no later. */
void roce_tx_settle(struct roce_tx *tx);

#endif
