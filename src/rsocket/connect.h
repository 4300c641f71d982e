/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The active side of a connection: from rconnect() to CONNECTED or FAILED, driven by events.
 */
#ifndef RSOCKET_CONNECT_H
#define RSOCKET_CONNECT_H

#include "rsocket/stream.h"

/* With base.lock held. */
int rs_connect_start(struct rs_stream *s, const struct sockaddr *addr, socklen_t len);
void rs_connect_event(struct rs_stream *s, const struct rdma_cm_event *event);

/* The errno of an event that ended an attempt. */
int rs_connect_error(const struct rdma_cm_event *event);

#endif
