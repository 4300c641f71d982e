/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of this room (struct hca, hca/hca.h): one struct per module. Types only. */
#ifndef HCA_RAW_STATE_H
#define HCA_RAW_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "ether/port_types.h"
#include "fabric/lock.h"

struct hca_adapter;
struct hca_wq;
struct netif;
struct vswitch_members;

LIST_HEAD(hca_wq_list, hca_wq);

/* wq.c: the receive lock, which guards states and positions of all work queues. */
struct wq_state {
	struct fabric_lock lock;
	_Atomic(pthread_t) owner;   /* the thread that holds the lock; 0: none */
	unsigned int depth;         /* nested batches of the owner */
	struct hca_wq_list pending; /* queues with completions that the batch's end writes */
	struct hca_wq_list pausing; /* queues without entries that pause the receive path */
};

struct rss_state {
	atomic_uint next_table; /* number of the next indirection table */
};

struct vswitch_state {
	/* under join_lock */
	bool joined[ETHER_ADAPTERS];
	const struct hca_adapter *adapters[ETHER_ADAPTERS];
	/* by ether_port_index(): members of the port's switch, as last read from the host directory */
	_Atomic(struct vswitch_members *) members[ETHER_PORT_COUNT];
	_Atomic bool has_sent; /* a frame has gone to another process since the last query */
};

struct netif_state {
	_Atomic(struct netif *) port[ETHER_PORT_COUNT]; /* by ether_port_index(); NULL: none */
	struct netif *open[ETHER_PORT_COUNT];           /* all of them, in the order of opening */
	atomic_uint count;                              /* of `open`; written under join_lock */
};

struct raw_state {
	pthread_mutex_t join_lock; /* adapters join the switch, and open their interfaces */
	struct wq_state wq;
	struct rss_state rss;
	struct vswitch_state vswitch;
	struct netif_state netif;
};

#define RAW_STATE_INIT                                                                             \
	{                                                                                          \
		.join_lock = PTHREAD_MUTEX_INITIALIZER, .rss.next_table = 1,                       \
	}

#endif
