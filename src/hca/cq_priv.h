/* SPDX-License-Identifier: BSD-2-Clause */
/* Between cq.c and channel.c. */
#ifndef HCA_CQ_PRIV_H
#define HCA_CQ_PRIV_H

#include "hca/cq.h"

/* Queues one event of the CQ. Innermost lock; any other may be held. */
void hca_channel_post(struct hca_channel *ch, struct hca_cq *cq);

#endif
