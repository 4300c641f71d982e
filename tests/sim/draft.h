/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A request while it is put together: its memory on both sides, and what the model has to know of
 * it.
 */
#ifndef TESTS_SIM_DRAFT_H
#define TESTS_SIM_DRAFT_H

#include "sim/sim.h"

struct draft {
	struct work *w;
	struct sq_slot *s;
	struct rng *rng;
	struct end *to;
	bool bad;
};

static inline bool draft_is_message(enum hca_op op)
{
	return op == HCA_OP_SEND || op == HCA_OP_SEND_IMM || op == HCA_OP_SEND_INV ||
	       op == HCA_OP_WRITE_IMM;
}

static inline bool draft_is_write(enum hca_op op)
{
	return op == HCA_OP_WRITE || op == HCA_OP_WRITE_IMM;
}

/* Fills in the operation of d->w. False: there is no room for it in this round. */
bool draft_make(struct draft *d);

#endif
