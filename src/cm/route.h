/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Paths to resolved destinations.
 */
#ifndef CM_ROUTE_H
#define CM_ROUTE_H

#include "cm/id_types.h"

/* With cm.lock held: ADDR_RESOLVED to ROUTE_RESOLVED, and queues its event. */
int cm_id_set_route(struct cm_id *id, const struct ibv_sa_path_rec *path);

#endif
