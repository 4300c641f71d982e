/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fabric between processes of one host: processes of one user in one network namespace find each
 * other (directory.h), map each other's segments (segment.h) and exchange records through pairs of
 * rings (link.h). Each has a service thread (service.h). The fabric knows nothing of queue pairs and
 * packets.
 *
 * The adapter calls fabric_init() once per process. All calls but init and fini may come from any
 * thread.
 */
#ifndef FABRIC_FABRIC_H
#define FABRIC_FABRIC_H

#include <stdbool.h>

#include "fabric/config.h"

/* Joins the host directory and creates the segment. -EALREADY when it is already up. */
int fabric_init(const struct fabric_config *config);

/*
 * Leaves: the service thread ends, every link dies (with link_down), the slot is free. No other
 * thread may use the fabric meanwhile. A process that just exits need not call it.
 */
void fabric_fini(void);

bool fabric_is_up(void);

#endif
