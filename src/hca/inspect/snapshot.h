/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Takes a snapshot of the process (snapshot_types.h). Nothing is counted for it: it reads what the queue pairs have
 * anyway, one after the other with its lock. A lock that another thread keeps for long is not waited for.
 */
#ifndef HCA_SNAPSHOT_H
#define HCA_SNAPSHOT_H

#include "hca/inspect/snapshot_types.h"

/* The caller frees it; NULL: no memory. Any thread, without a lock of the adapter. */
struct snapshot *snapshot_take(void);
/* A snapshot as a memory file, which the caller closes; -1: none could be made. */
int snapshot_describe(void);

#endif
