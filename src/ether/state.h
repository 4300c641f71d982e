/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state of the folder.
 */
#ifndef ETHER_STATE_H
#define ETHER_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "ether/frame.h"
#include "ether/port_types.h"
#include "util/forksafe.h"

struct ether_state {
	pthread_mutex_t flow_lock; /* tables, groups, matchers and rules */
	pthread_mutex_t port_lock; /* counts and filters of ports */
	struct ether_port ports[ETHER_ADAPTERS][ETHER_PORTS];
	/* The filters of ports that have no place in shared memory. */
	struct ether_rx_filter local_filters[ETHER_ADAPTERS][ETHER_PORTS];
	/* Set by the switch; NULL: frames that leave are dropped. */
	void (*transmit)(struct ether_port *port, struct ether_frame *frame);
	/* Set by the switch, too: around the receiving of frames that leave by a port and come back to it. */
	void (*receive_begin)(struct ether_frame *frame);
	void (*receive_end)(void);
	/* Rules of root tables for packets of queue pairs: that arrive, that leave. */
	atomic_uint rdma_rules[2];
	void (*rdma_changed)(void); /* set once */
	/* A thread's latest changed frame (ether_steer_out()). */
	pthread_key_t changed_frame;
	bool has_changed_frame;   /* the key exists */
	uint64_t (*now_ns)(void); /* of meters */
	struct forksafe flow_forksafe, port_forksafe;
};

extern struct ether_state ether_state;

/* The clock of meters; by default the system's. */
void ether_set_clock(uint64_t (*now_ns)(void));

#endif
