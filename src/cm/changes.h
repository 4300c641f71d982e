/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ids whose adapter or interface has changed under them.
 */
#ifndef CM_CHANGES_H
#define CM_CHANGES_H

#include <stdint.h>

/* With cm.lock held. Tells every id of what has changed since the last call. */
void cm_changes_run(void);
/* With cm.lock held, on the agent's timer: again, if the last time lacked memory for an event. */
void cm_changes_retry(uint64_t now_ns);

#endif
