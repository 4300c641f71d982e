/* SPDX-License-Identifier: BSD-2-Clause */
/* Polling: takes the place of the driver's functions in the tables of contexts and of extended CQs. */
#ifndef TRACE_POLL_H
#define TRACE_POLL_H

#include "verbs/objects.h"

int trace_poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *wc);
void trace_poll_wrap(struct vb_cq *cq);
void trace_event_wanted(struct vb_channel *channel);
void trace_event_fetched(struct vb_cq *cq);

#endif
