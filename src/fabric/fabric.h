/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The same-host fabric: processes of one user in one network namespace find each other
 * (directory.h), map each other's segments (segment.h), exchange records through ring pairs
 * (link.h) and keep one quiet thread each (service.h). It knows no queue pair and no packet.
 *
 * The adapter calls fabric_init() once per process. All calls but init and fini may come from any
 * thread; the upcalls come from the service thread, drain() also from threads inside
 * fabric_poll_links(). No lock of the fabric is held during an upcall, except the link's receive
 * lock during drain().
 */
#ifndef FABRIC_FABRIC_H
#define FABRIC_FABRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Names one life of one process: slot in the low bits, generation above. A slot that is taken again
 * gets another generation, so an id never names two processes. 0 is nobody.
 */
typedef uint32_t fabric_id_t;

#define FABRIC_NOBODY    0u
#define FABRIC_SLOT_BITS 10
#define FABRIC_SLOTS     (1u << FABRIC_SLOT_BITS)

static inline uint32_t fabric_id_slot(fabric_id_t id)
{
	return id & (FABRIC_SLOTS - 1);
}

struct fabric_link;

/* Every member may be zero. */
struct fabric_config {
	/* Bytes of the process segment, its first page included; sparse. 0: one page. */
	uint64_t segment_size;
	/* Bytes of one ring, a power of two from 4 KiB to 64 MiB. 0: VERBENA_RING, or 256 KiB. */
	uint32_t ring_size;
	/* How long a link may stay CONNECTING. 0: 20 s. */
	uint32_t handshake_ms;

	/* The memfd that every linked peer gets a copy of, or -1. Asked once per link. */
	int (*share_fd)(void);
	/*
	 * Handles the records waiting on the link, with the receive lock held. Returns how many it
	 * released. 0 says that it cannot go on now (no room for the answers, say): the service
	 * thread then comes back after a millisecond instead of at once.
	 */
	unsigned int (*drain)(struct fabric_link *link);
	/*
	 * Nobody polls any more, from whatever thread found out: descriptors that were left to the
	 * pollers are to be watched again. See fabric_polled().
	 */
	void (*idle)(void);
	/* Looks after the threads that poll, while some do: every `period_ns`. */
	void (*watch)(uint64_t now_ns, uint64_t period_ns);
	/* The link is UP; nothing was drained from it yet. Also for links that the peer asked for.
	 */
	void (*link_up)(struct fabric_link *link);
	/*
	 * The link is DEAD; what the peer published before is drained, and drain() will not be
	 * called again. Once for each link that was UP, or that fabric_link_get() handed out
	 * CONNECTING.
	 */
	void (*link_down)(struct fabric_link *link);
	/* There is room again on a link for which fabric_link_want_room() was called. */
	void (*room)(struct fabric_link *link);
	/* Runs what is due; returns the next absolute deadline, UINT64_MAX when there is none. */
	uint64_t (*timers)(uint64_t now_ns);
	/* May be NULL: the service thread is about to sleep, until what is returned; 0: not yet. */
	uint64_t (*turn)(uint64_t now_ns);
	/*
	 * Around a fork: the caller's own locks, all of them, in the order in which they nest. They
	 * are taken when the service thread rests and before any lock of the fabric.
	 */
	void (*before_fork)(void);
	void (*after_fork)(void); /* in the parent, and in the child after forked() */
	/* In the child of a fork, after the fabric forgot everything; fabric_init() starts anew. */
	void (*forked)(void);
};

/* Joins the host directory and creates the segment. -EALREADY when it is already up. */
int fabric_init(const struct fabric_config *config);

/*
 * Leaves: the service thread ends, every link dies (with link_down), the slot is free. Nobody else
 * may be inside the fabric. A process that just exits need not call it.
 */
void fabric_fini(void);

bool fabric_is_up(void);

/* This process; FABRIC_NOBODY when the fabric is down. */
fabric_id_t fabric_self(void);
/* Where the host directory lies; valid while the fabric is up. */
const char *fabric_folder(void);

/* CLOCK_MONOTONIC, the clock of all deadlines here. */
uint64_t fabric_now_ns(void);

#endif
