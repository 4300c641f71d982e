/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events of completion queues: wake-ups that are lost, events that are not acknowledged.
 */
#ifndef CHECK_NOTIFY_H
#define CHECK_NOTIFY_H

#include "check/queue.h"

int check_req_notify_cq(struct ibv_cq *cq, int solicited);
void check_event_wanted(struct vb_channel *channel);
void check_event_fetched(struct vb_cq *cq);
void check_cq_destroying(struct vb_cq *cq);

#endif
