/* SPDX-License-Identifier: BSD-2-Clause */
/* Rates of queue pairs, made of the differences between snapshots. */
#ifndef VERBENA_TOP_RATES_H
#define VERBENA_TOP_RATES_H

#include "top_host.h"

/* Takes in a snapshot of the process. False: no memory. */
bool top_rates_add(struct top_process *p, const struct snapshot *s);
/* Ends the interval: rates, and the two ends of connections find each other. */
void top_rates_roll(struct top_host *h);

#endif
