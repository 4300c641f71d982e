/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Routes and neighbours in the kernel's tables. No call waits for an answer from the network.
 */
#ifndef HCA_NEIGH_H
#define HCA_NEIGH_H

#include <stdbool.h>
#include <stdint.h>

#include "util/api.h"

/* Where packets for a destination go. Addresses are GIDs, IPv4 mapped. */
struct hca_next_hop {
	uint32_t ifindex;
	bool is_known; /* it has no neighbour to ask for: this host, or multicast */
	uint8_t addr[16];
};

/*
 * By the routing table. `from` may be NULL, and ifindex 0: any. -ENETUNREACH and other errors as the
 * kernel gives them.
 */
VB_API int hca_neigh_route(uint32_t ifindex, const uint8_t from[16], const uint8_t to[16],
			   struct hca_next_hop *out);
/*
 * The MAC of the neighbour. -ENOENT: not known; -EOPNOTSUPP: no neighbours there, as in a tunnel; other
 * errors: the kernel does not tell.
 */
VB_API int hca_neigh_find(const struct hca_next_hop *hop, uint8_t mac[6]);
/* Makes the kernel ask for the neighbour, by an empty datagram to the destination. */
VB_API int hca_neigh_probe(uint32_t ifindex, const uint8_t from[16], const uint8_t to[16]);

#endif
