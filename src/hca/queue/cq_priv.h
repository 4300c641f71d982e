/* SPDX-License-Identifier: BSD-2-Clause */
/* Between cq.c, channel.c and cq_moderation.c. */
#ifndef HCA_CQ_PRIV_H
#define HCA_CQ_PRIV_H

#include "hca/queue/cq.h"

/* Queues one event of the CQ. Innermost lock; any other may be held. */
void hca_channel_post(struct hca_channel *ch, struct hca_cq *cq);

/* cq.c: the event that was asked for comes now. Lock held, as for the next. */
void hca_cq_fire(struct hca_cq *cq);
/* cq_moderation.c: there is a reason for the event that was asked for; it comes now or later. */
void hca_cq_event_wanted(struct hca_cq *cq);
void hca_cq_moderate_forget(struct hca_cq *cq);
/* Service thread: events that are due; returns when the next one is. */
uint64_t hca_cq_timers(uint64_t now_ns);
void hca_cq_forked(void);

/*
 * Arming by hand, for doorbell_watch.c: from _begin() on a change of the arm word is a request, and _raw()
 * carries it out. True when there was one.
 */
void hca_cq_arm_begin(struct hca_cq *cq);
bool hca_cq_arm_raw(struct hca_cq *cq);
/* The same by a word that came through a doorbell page. */
void hca_cq_arm_rung(struct hca_cq *cq, uint32_t asked);

#endif
