/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Source addresses of ids.
 */
#ifndef CM_BIND_H
#define CM_BIND_H

#include "cm/id_types.h"

/* With cm.lock held: IDLE to BOUND. cm_id_unbind() is the way back. */
int cm_id_bind(struct cm_id *id, const struct sockaddr *addr);

#endif
