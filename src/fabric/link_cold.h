/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The part of a link that data transfers do not touch. It belongs to the service thread, except for
 * the atomic fields.
 */
#ifndef FABRIC_LINK_COLD_H
#define FABRIC_LINK_COLD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "fabric/ring.h"

struct fabric_link;

struct fabric_link_cold {
	struct fabric_link *link;
	LIST_ENTRY(fabric_link_cold) in_allocated, in_active; /* lists of struct fabric_links */
	bool active;
	int sock;
	int wake_fd;
	int share_fd;
	pid_t pid;
	bool self;
	const void *segment;
	uint64_t segment_size;
	void *mailbox;
	uint64_t mailbox_size;
	struct fabric_ring_pair rings;
	unsigned int tx_ring; /* 0 for the side that connected, 1 for the side that accepted */
	bool peer_barrier;    /* barrier_has_global() of the peer */
	uint64_t deadline_ns, retry_ns; /* while CONNECTING */
	int shortage;                   /* errno of what was lacking here at the last try, or 0 */

	/* any thread sets, the service thread clears */
	_Atomic bool kill;
	_Atomic bool want_room;
	_Atomic bool corrupt;
};

#endif
