/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The beginning and the end of rounds. At the end everything that was posted completes, the network
 * is empty, and every byte of every host is held against the model.
 */
#ifndef TESTS_SIM_SETTLE_H
#define TESTS_SIM_SETTLE_H

#include "sim/sim.h"

void settle_start(void);
/* `more`: another round follows, with what has failed set up anew. */
void settle_round(bool more);
void settle_stop(void);

/* The host's processes die: its objects are gone, without a word to anybody. */
void settle_vanish(struct host *host);
void settle_post_receives(struct rq *rq, unsigned int count, struct rng *rng);

#endif
