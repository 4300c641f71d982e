/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where packets stand: the how manyeth of which connection, and how often it has come. That is what
 * faults by chance depend on, so that a run can be repeated although its packets interleave
 * differently. No lock inside; fault.c has one around it.
 */
#ifndef ROCE_PLACE_H
#define ROCE_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "roce/fault.h"

struct roce_places;

struct roce_seat {
	uint64_t number; /* of this packet on this occasion; another seed's rules draw from it */
	uint32_t connection;
	uint32_t packet; /* counted from the first request of the connection */
	uint32_t times;  /* how often it has come before */
	bool again;      /* it comes although nothing happened to it the last time */
	bool *hit;       /* whether this time it does not get through; to be said by the caller */
};

struct roce_places *roce_places_create(void);
void roce_places_destroy(struct roce_places *p);

/* False with too many connections, or without memory. `accepted`: as the responder sees it. */
bool roce_place_find(struct roce_places *p, bool accepted, enum roce_dir dir,
		     const struct roce_pkt *pkt, const struct roce_addr *peer,
		     struct roce_seat *out);
/* The queue pair begins anew; what it does next is another connection. */
void roce_place_forget(struct roce_places *p, uint32_t qpn);

#endif
