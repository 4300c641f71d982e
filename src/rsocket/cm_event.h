/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events of the connection manager: all rsockets of the process share one channel, which the service
 * thread reads.
 */
#ifndef RSOCKET_CM_EVENT_H
#define RSOCKET_CM_EVENT_H

#include "rsocket/watch.h"

/* Handler of the channel's descriptor. */
void rs_cm_event_ready(struct rs_watch *watch);

#endif
