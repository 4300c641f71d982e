/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets that arrived at this process's socket and are for another process of the host, until the
 * kernel knows better (reuseport.h). They travel over the link between the two.
 */
#ifndef HCA_FORWARD_H
#define HCA_FORWARD_H

#include "hca/peers/peer_types.h"
#include "hca/transport/grh.h"
#include "roce/packet.h"

/* The packet, and facts that its bytes do not contain. */
struct forward {
	struct roce_pkt pkt;
	uint8_t grh[HCA_GRH_BYTES];
	uint8_t src[16], dst[16];
	uint16_t sport; /* UDP source port; 0: of a process of the fabric */
};

/*
 * Sends a packet to the process that owns its QP, or keeps it while the link is being made or full; it
 * is dropped when too many wait. Inside an epoch section.
 */
void forward_send(fabric_id_t owner, const struct forward *f, const uint8_t *data);
extern const struct peer_listener forward_peer_listener;
/* In the child of a fork: the waiting packets are the parent's. */
void forward_free_inherited(void);

#endif
