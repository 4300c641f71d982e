/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests of one queue, in the order of their posting. Completed ones stay in the ring until their slot is
 * taken again: they tell where the adapter has written lately.
 */
#ifndef CHECK_REQUEST_H
#define CHECK_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "check/memory.h"
#include "check/place.h"

#define CHECK_PIECES 4 /* of a request; further ones are not looked at */

struct check_request {
	uint64_t wr_id;
	uint64_t posted, completed; /* check.clock; completed 0: it is outstanding */
	const struct check_place *place;
	const char *verb; /* "SEND" */
	bool signaled;    /* a completion will come */
	bool target;      /* the adapter writes to the pieces, rather than reads them */
	bool fenced;      /* it begins when all reads before it are done */
	bool summed;      /* `sum` is that of the pieces when the request was posted */
	bool is_remote;   /* a read or a write */
	bool changed;     /* the bytes of a receive, before its message came */
	uint8_t count;    /* of pieces */
	int thread;       /* that posted */
	/* Of reads and writes: the peer's memory. The length is that of all elements; 0 for others. */
	uint64_t remote, length;
	uint32_t rkey;
	/* A piece lies in the frame of a function; the place of that function's return address, and it. */
	const uintptr_t *frame;
	uintptr_t returns_to;
	uint64_t sum;
	struct check_piece pieces[CHECK_PIECES];
};

/* head and tail run freely. Outstanding requests lie between tail and head. */
struct check_ring {
	struct check_request *slots;
	uint32_t mask, head, tail;
};

/* For `count` outstanding requests, and a history of as many. 0 or -ENOMEM. */
int check_ring_init(struct check_ring *ring, uint32_t count);
void check_ring_fini(struct check_ring *ring);

static inline struct check_request *check_ring_at(const struct check_ring *ring, uint32_t index)
{
	return &ring->slots[index & ring->mask];
}

/* The slot for the next request, to be counted by head++; NULL: the program has posted too many. */
struct check_request *check_ring_next(struct check_ring *ring);

/* Both have some of the same bytes. */
bool check_request_touches(const struct check_request *a, const struct check_request *b);
/* The newest time of a completed request that is no longer in the ring; 0: all are. */
uint64_t check_ring_horizon(const struct check_ring *ring);
/*
 * Whether the adapter may have written to the bytes of `r` since it was posted, by another request of the ring; `read`:
 * or read them.
 */
bool check_ring_used(const struct check_ring *ring, const struct check_request *r, bool read);

#endif
