/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ports as the flow engine knows them.
 */
#ifndef ETHER_PORT_TYPES_H
#define ETHER_PORT_TYPES_H

#include "ether/frame.h"
#include "ether/rx_filter.h"

#define ETHER_ADAPTERS   32u
#define ETHER_PORTS      4u
#define ETHER_PORT_COUNT (ETHER_ADAPTERS * ETHER_PORTS)

/* An adapter's port in this process; never freed. */
struct ether_port {
	unsigned int adapter;           /* index in the list of adapters */
	unsigned int number;            /* from 1 */
	void *engine;                   /* struct flow_port; written under flow_lock */
	_Atomic uint32_t geneve_option; /* ETHER_GENEVE_OPTION(), or 0 */
	struct ether_rx_filter *filter;
	unsigned int mac_count[64], all_count, multicast_count, unclaimed_count;
	unsigned int claim_count[ETHER_RX_CLAIMS]; /* rules for claimed[i] */
	uint64_t claimed[ETHER_RX_CLAIMS];
};

/* Below ETHER_PORT_COUNT. */
static inline unsigned int ether_port_index(const struct ether_port *port)
{
	return port->adapter * ETHER_PORTS + port->number - 1;
}

#endif
