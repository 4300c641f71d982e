/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Arguments of fabric_init(): sizes, and the adapter's functions that the fabric calls. They are
 * called on the service thread, except where it says otherwise; no lock of the fabric is held
 * meanwhile, except the link's receive lock during drain().
 */
#ifndef FABRIC_CONFIG_H
#define FABRIC_CONFIG_H

#include <stdint.h>

struct fabric_link;

/* Every member may be zero. */
struct fabric_config {
	/* Bytes of the process segment, its head (segment_head.h) included; sparse. 0: the head. */
	uint64_t segment_size;
	/* Bytes of the memory that linked peers write (mailbox.h); sparse. 0: none. */
	uint64_t mailbox_size;
	/* Bytes of one ring, a power of two from 4 KiB to 64 MiB. 0: VERBENA_RING, or 256 KiB. */
	uint32_t ring_size;
	/* How long a link may stay CONNECTING. 0: 20 s. */
	uint32_t handshake_ms;

	/* The memfd that every linked peer gets a copy of, or -1. Called once per link. */
	int (*share_fd)(void);
	/*
	 * A memory file that describes the process, for a viewer that has asked (ask.h); -1: there is none. The
	 * caller closes it.
	 */
	int (*describe)(void);
	/*
	 * Handles the records waiting on the link, with the receive lock held, on the service
	 * thread or on a thread that polls. Returns how many it released. 0 means that it cannot
	 * continue now (no room for the answers, say): the service thread calls it again after a
	 * millisecond instead of at once.
	 */
	unsigned int (*drain)(struct fabric_link *link);
	/*
	 * No thread polls any more: file descriptors that were left to polling threads have to be
	 * watched again. On any thread. See fabric_is_polled().
	 */
	void (*polling_stopped)(void);
	/* While threads poll: every `period_ns`. */
	void (*polling_check)(uint64_t now_ns, uint64_t period_ns);
	/* The link is UP; nothing was drained from it yet. Also for links that the peer set up. */
	void (*link_up)(struct fabric_link *link);
	/*
	 * The link is DEAD; what the peer published before is drained, and drain() will not be
	 * called again. Once for each link that was UP, or that fabric_link_get() returned in state
	 * CONNECTING.
	 */
	void (*link_down)(struct fabric_link *link);
	/* There is room again on a link for which fabric_link_want_room() was called. */
	void (*link_room)(struct fabric_link *link);
	/* Runs timers that are due; returns the next deadline, UINT64_MAX when there is none. */
	uint64_t (*timers)(uint64_t now_ns);
	/*
	 * The service thread is about to sleep. Returns until when at most; 0: not yet, UINT64_MAX:
	 * no limit.
	 */
	uint64_t (*before_sleep)(uint64_t now_ns);
	/*
	 * In the thread that forks, before any lock is taken, and in the parent after all are
	 * released.
	 */
	void (*fork_begins)(void);
	void (*fork_ends)(void);
	/*
	 * Around a fork: takes and releases all of the caller's own locks, in the order in which
	 * they nest. The service thread sleeps then, and no lock of the fabric is taken yet.
	 */
	void (*before_fork)(void);
	void (*after_fork)(void); /* in the parent, and in the child after forked() */
	/* In the child of a fork, once the fabric is down there; fabric_init() starts it anew. */
	void (*forked)(void);
};

#endif
