/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events of connections as events of their ids.
 */
#ifndef CM_CONN_EVENT_H
#define CM_CONN_EVENT_H

#include "cm/conn_types.h"

/* With cm.lock held. The owner of the connection is a struct cm_id. */
void cm_conn_event(struct conn *conn, const struct conn_event *event);

#endif
