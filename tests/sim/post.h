/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests: posted at random, with what the model has to know of them. */
#ifndef TESTS_SIM_POST_H
#define TESTS_SIM_POST_H

#include "sim/sim.h"

/* Of a random queue pair. */
void post_random(struct rng *rng);
/* A signaled request without effect: all before it complete with it. */
bool post_nop(struct end *end);
/* Rings the doorbell for everything that was posted. */
void post_ring(struct end *end);
/* Requests under way that use the host's spare region may fail from now on. */
void post_spare_gone(struct host *host);

#endif
