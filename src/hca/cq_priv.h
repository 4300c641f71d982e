/* SPDX-License-Identifier: BSD-2-Clause */
/* Between cq.c and channel.c. */
#ifndef HCA_CQ_PRIV_H
#define HCA_CQ_PRIV_H

#include "hca/cq.h"

/* Queues one event of the CQ. Innermost lock; any other may be held. */
void hca_channel_post(struct hca_channel *ch, struct hca_cq *cq);

/*
 * Arming by hand, for bell.c: from _begin() on a change of the arm word is a request, and _raw()
 * carries it out. True when there was one.
 */
void hca_cq_arm_begin(struct hca_cq *cq);
bool hca_cq_arm_raw(struct hca_cq *cq);
/* The same by a word that came through a doorbell page. */
void hca_cq_arm_rung(struct hca_cq *cq, uint32_t asked);

#endif
