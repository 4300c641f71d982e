/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Identity of a packet: which connection, which packet of it, and how often it was seen before. Random
 * faults depend on it alone, so that a run can be repeated although its packets interleave differently.
 * No lock inside; fault.c has one.
 */
#ifndef ROCE_PKT_ID_H
#define ROCE_PKT_ID_H

#include <stdbool.h>
#include <stdint.h>

#include "roce/addr.h"
#include "roce/fault_types.h"
#include "roce/packet.h"

struct roce_pkt_ids;

struct roce_pkt_id {
	uint64_t number; /* all of the following in one number, for random functions */
	uint32_t connection;
	uint32_t packet; /* counted from the first request of the connection */
	uint32_t times;  /* how often it was seen before */
	bool again;      /* it was seen before, and not lost then */
	bool *lost;      /* set by the caller: whether a fault loses it this time */
};

struct roce_pkt_ids *roce_pkt_ids_create(void);
void roce_pkt_ids_destroy(struct roce_pkt_ids *p);

/* False with too many connections, or without memory. `accepted`: seen by the responder, not by a socket. */
bool roce_pkt_id_find(struct roce_pkt_ids *p, bool accepted, enum roce_dir dir,
		      const struct roce_pkt *pkt, const struct roce_addr *peer,
		      struct roce_pkt_id *out);
/* The QP was reset: its next packets belong to another connection. */
void roce_pkt_id_forget(struct roce_pkt_ids *p, uint32_t qpn);

#endif
