/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ids whose adapter or interface has changed under them.
 */
#ifndef CM_CHANGES_H
#define CM_CHANGES_H

/* With cm.lock held. Tells every id of what has changed since the last call. */
void cm_changes_run(void);

#endif
