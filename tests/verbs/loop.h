/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The least that makes completions: a UD queue pair in RTS on a channel and a queue of its own. A
 * helper that fails ends the test that called it.
 */
#ifndef LOOP_H
#define LOOP_H

#include "verbs_test.h"

struct loop {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel; /* NULL before closing: it is left open */
	struct ibv_cq *cq;                /* the user's pointer is the loop */
	struct ibv_qp *qp;
	struct ibv_ah *ah; /* to itself */
};

void loop_open(struct loop *l, struct ibv_context *context);
void loop_close(struct loop *l);

/* One empty datagram to a queue pair that does not exist; it completes all the same. */
void loop_send(struct loop *l);
/* Takes one completion, which must be there or come, and be good. */
void loop_poll(struct loop *l);

/* An address handle to the device itself. */
struct ibv_ah *loop_ah(struct ibv_pd *pd);

#endif
