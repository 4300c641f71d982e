/* SPDX-License-Identifier: BSD-2-Clause */
/* Completions: polled, and held against the model. */
#ifndef TESTS_SIM_COMPLETION_H
#define TESTS_SIM_COMPLETION_H

#include "sim/sim.h"

/* Takes at most so many of the queue. */
void completion_poll(struct cq *cq, unsigned int most);
void completion_poll_all(void);
/* Fails if receives of the end were flushed for no reason. All queues were polled. */
void completion_explain(struct end *end);

#endif
