/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Addresses and routes of destinations.
 */
#ifndef CM_RESOLVE_H
#define CM_RESOLVE_H

#include "cm/id_types.h"

/* With cm.lock held: ADDR_RESOLVED to ROUTE_RESOLVED, and queues its event. */
int cm_id_set_route(struct cm_id *id, const struct ibv_sa_path_rec *path);

#endif
