/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets that arrived at the socket of one process and are for another of the host, while the
 * kernel does not know better (wire.c). They travel over the link between the two.
 */
#ifndef HCA_FORWARD_H
#define HCA_FORWARD_H

#include "hca/transport/grh.h"
#include "hca/peers/peer.h"
#include "roce/packet.h"

/* What a packet is worth knowing of besides itself. */
struct forward {
	struct roce_pkt pkt;
	uint8_t grh[HCA_GRH_BYTES];
	uint8_t src[16], dst[16];
};

/* Inside an epoch section. A packet waits while the link is made or has no room; too many are dropped. */
void forward_send(fabric_id_t owner, const struct forward *f, const uint8_t *data);
extern const struct peer_listener forward_peer_listener;
void forward_forked(void);

#endif
