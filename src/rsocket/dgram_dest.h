/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Peers of a datagram rsocket: their addresses, and the way to their queue pairs. All with base.lock
 * held.
 */
#ifndef RSOCKET_DGRAM_DEST_H
#define RSOCKET_DGRAM_DEST_H

#include "rsocket/dgram.h"

struct rs_dest {
	struct hash_link by_addr;
	LIST_ENTRY(rs_dest) link;
	struct rs_dgram *socket;
	union rs_addr addr;
	struct rs_dgram_qp *qp; /* the own one, with the local address that leads there */
	struct ibv_ah *ah;      /* NULL: not known, UDP is used */
	uint32_t qpn;
	struct rdma_cm_id *id; /* while the route is resolved */
	struct rs_cm_owner owner;
};

/* The peer of this address, made if there is none. */
int rs_dest_get(struct rs_dgram *d, const union rs_addr *addr, struct rs_dest **out);
/* The peer has this queue pair: finds the way to it, in the background. */
void rs_dest_set_qpn(struct rs_dest *dest, uint32_t qpn);
/* Frees all; with the socket closed, and without a lock. */
void rs_dest_destroy_all(struct rs_dgram *d);

#endif
