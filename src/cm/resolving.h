/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ids whose address is being resolved: each waits until the kernel knows the neighbour that leads to
 * its destination. With cm.lock held.
 */
#ifndef CM_RESOLVING_H
#define CM_RESOLVING_H

#include "cm/id_types.h"

struct cm_source;

/*
 * BOUND to ADDR_QUERY; ADDR_RESOLVED or ADDR_ERROR follows within timeout_ms (negative: no limit), at
 * once where nothing has to be waited for. The destination is in the id.
 */
int cm_resolving_start(struct cm_id *id, const struct cm_source *source, int timeout_ms);
/* Looks at the neighbours that are due. The agent's timer. */
void cm_resolving_run(uint64_t now_ns);
/* Does nothing when the id waits for nothing. */
void cm_resolving_cancel(struct cm_id *id);
/* The child of a fork resolves nothing: the ids are the parent's. */
void cm_resolving_forked(void);

#endif
