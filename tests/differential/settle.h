/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Waits until the adapter has nothing left to do, and puts what happened into the trace: completions, events, and
 * bytes of the arena that changed.
 */
#ifndef DIFFERENTIAL_SETTLE_H
#define DIFFERENTIAL_SETTLE_H

#include <stdbool.h>

/* Makes the connection with itself that the waits use. Exits on failure. */
void settle_open(void);

void settle(void);

/* Settles as above, but does not wait: for calls that start no work. */
void settle_quick(void);

#endif
