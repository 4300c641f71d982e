/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events of the connection manager for streams.
 */
#ifndef RSOCKET_STREAM_EVENT_H
#define RSOCKET_STREAM_EVENT_H

#include "rsocket/cm_owner.h"

/* rs_cm_owner.event of a stream. */
void rs_stream_event(struct rs_cm_owner *owner, const struct rdma_cm_event *event,
		     struct rs_cm_cleanup *cleanup);

#endif
