/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the programs of docs/checker.md that write to the rings of a ConnectX-4 or later start from: the send queue
 * of r->a, and its CQ, by hand (mlx5dv_init_obj()). r->b, which receives, has a CQ of its own.
 */
#ifndef CHECK_RING_H
#define CHECK_RING_H

#include <infiniband/mlx5dv.h>

#include "rig.h"

struct ring {
	struct mlx5dv_qp qp;
	struct mlx5dv_cq cq;
	struct ibv_cq *receives;
	uint32_t posted;   /* requests written so far, of 64 bytes each */
	uint32_t consumed; /* completions read so far */
};

/* Connects the queue pairs. */
void ring_open(struct ring *ring, struct rig *r);
void ring_close(struct ring *ring, struct rig *r);
/* Writes a SEND of MESSAGE bytes from `from` into entry `index`, which counts on from round to round. */
void ring_write(struct ring *ring, const struct rig *r, uint32_t index, const void *from);
/* Hands over all requests up to `posted`. */
void ring_doorbell(struct ring *ring);
/* The second half of it: the register alone. */
void ring_register(struct ring *ring);
/* Waits until the next completion of a send is there, and counts it. */
void ring_take(struct ring *ring);
/* Stores the number of completions that were read. */
void ring_give_back(struct ring *ring);
/* Waits until a message has arrived. */
void ring_receive(struct ring *ring);

/* Polls a CQ in which nothing comes; meanwhile the adapter looks at the rings. */
void do_other_work(struct rig *r, unsigned int milliseconds);
/* Until the adapter says that something is wrong. */
void wait_for_error(struct rig *r);

#endif
