/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ports of this process's adapters, and what each asks the switch for.
 */
#ifndef ETHER_PORT_H
#define ETHER_PORT_H

#include "ether/frame.h"
#include "ether/port_types.h"
#include "util/api.h"

enum ether_wanted {
	ETHER_WANTED,           /* frames that may be for others as well */
	ETHER_WANTED_CLAIMED,   /* all frames to the address, if the mask is full */
	ETHER_WANTED_UNCLAIMED, /* frames to addresses that no port takes */
};

/* NULL when either number is out of range. */
VB_API struct ether_port *ether_port(unsigned int adapter, unsigned int number);

/*
 * Counts a rule (delta 1, or -1 when it is destroyed) that wants frames to `mac` under `mask`. The
 * port asks the switch for the address if the mask is full, for all multicasts if it has the group
 * bit, and for every frame otherwise. Takes port_lock.
 */
VB_API void ether_port_want(struct ether_port *port, const uint8_t mac[6], const uint8_t mask[6],
			    enum ether_wanted kind, int delta);

/* The Geneve option (ETHER_GENEVE_OPTION()) that rules match on; false: the port has one already. */
VB_API bool ether_port_set_geneve(struct ether_port *port, uint32_t option);
VB_API void ether_port_clear_geneve(struct ether_port *port);

/* The port's filter is in shared memory from now on, where peers see them; NULL: no longer. */
void ether_port_place(struct ether_port *port, struct ether_rx_filter *filter);

/* How the engine sends a frame out of a port; the switch (src/hca/raw/vswitch.c) sets it. */
void ether_port_set_transmit(void (*transmit)(struct ether_port *port, struct ether_frame *frame));

/* What the engine calls around frames that a rule sends back to the port that they leave by. */
void ether_port_set_receive(void (*begin)(struct ether_frame *frame), void (*end)(void));

/*
 * Counts rules of root tables for packets of queue pairs, which leave (`out`) or arrive. changed() is
 * called without a lock when there is a first one or none any more.
 */
void ether_port_count_rdma(bool out, int delta);
unsigned int ether_port_rdma_rules(bool out);
void ether_port_set_rdma_changed(void (*changed)(void));

/* In a forked child: forgets the rules and filters of the parent. */
void ether_port_forked(void);

#endif
