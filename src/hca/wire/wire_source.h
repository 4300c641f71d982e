/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets that have the address of a queue pair's peer, but are not the peer's.
 *
 * When the peer is on this host, every user can send from its address. What other users cannot do
 * is to send from a port that is taken, or to receive at the peer's address and port 4791. So
 * packets for such a queue pair must come from a port of the user who has that port.
 *
 * From other hosts packets may come from any port, which only spreads flows (IBTA Annex A17):
 * adapters may change it at any time. Only the rate of wrong packet numbers is limited, for ports
 * other than the last two that were good.
 */
#ifndef HCA_WIRE_SOURCE_H
#define HCA_WIRE_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

struct qp;
struct roce_pkt;

/*
 * Whether a packet from the peer's address may be handled, though its port is not qp->peer_sport.
 * Otherwise it has been counted. The QP's lock is held.
 */
bool wire_source_accept(struct qp *qp, uint16_t sport, const struct roce_pkt *pkt)
	__attribute__((cold));

#endif
