/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets and bytes of one queue pair, in the host directory (traffic.h). The owner adds under the lock of
 * its queue pair, with plain loads and stores; all others only read.
 */
#ifndef FABRIC_TRAFFIC_BLOCK_H
#define FABRIC_TRAFFIC_BLOCK_H

#include <stdatomic.h>
#include <stdint.h>

#include "fabric/id.h"

enum fabric_traffic_count {
	/* of the port; a row has these, too */
	FABRIC_TX_BYTES,
	FABRIC_TX_UNICAST, /* packets */
	FABRIC_TX_MULTICAST,
	FABRIC_RX_BYTES,
	FABRIC_RX_UNICAST,
	FABRIC_RX_MULTICAST,
	FABRIC_TRAFFIC_OF_PORT,
	/* without the peer's help: sent by this port and received by the other one, and the reverse */
	FABRIC_DIRECT_TX_BYTES = FABRIC_TRAFFIC_OF_PORT,
	FABRIC_DIRECT_TX_PACKETS,
	FABRIC_DIRECT_RX_BYTES,
	FABRIC_DIRECT_RX_PACKETS,
	FABRIC_TRAFFIC_COUNTS,
};

struct fabric_traffic {
	_Alignas(64) _Atomic fabric_id_t owner; /* FABRIC_ID_NONE while free */
	_Atomic uint8_t port, other;            /* rows, from 1 on (fabric_port_row()); 0: none */
	_Atomic uint64_t count[FABRIC_TRAFFIC_COUNTS];
};

static inline void fabric_traffic_add(struct fabric_traffic *t, unsigned int what, uint64_t n)
{
	atomic_store_explicit(&t->count[what],
			      atomic_load_explicit(&t->count[what], memory_order_relaxed) + n,
			      memory_order_relaxed);
}

#endif
