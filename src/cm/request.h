/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connection requests that arrive: each becomes a new id and an event at the id that listens.
 */
#ifndef CM_REQUEST_H
#define CM_REQUEST_H

#include "cm/conn_types.h"

/* With cm.lock held. 0, or the reason to reject the request for. */
enum msg_reason cm_request_receive(struct conn *conn, const struct msg_req *req);

#endif
