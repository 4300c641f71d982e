/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests that arrive before earlier ones, at a queue pair that takes data out of order (mlx5's OOO_DP).
 * The program has agreed to see them in any order, so they are kept rather than refused, and executed in
 * their turn. Lock held.
 */
#ifndef HCA_REORDER_H
#define HCA_REORDER_H

#include "hca/transport/qp_types.h"

/* Packets behind a gap that are kept, and those after which the gap counts as a loss. */
#define REORDER_SLOTS 64u
#define REORDER_LOSS  32u

struct reorder_packet {
	struct roce_pkt pkt;
	uint8_t payload[];
};

/*
 * Keeps a copy of a packet behind the expected one; true if the gap may still close by itself. False: it
 * counts as a loss, whether the packet was kept or not.
 */
bool reorder_keep(struct qp *qp, const struct roce_pkt *pkt, const struct hca_list *payload);
/* Takes the expected packet out, for the caller to free; NULL: it has not arrived. */
struct reorder_packet *reorder_take(struct qp *qp);
/* Drops all. */
void reorder_clear(struct responder *r);

#endif
