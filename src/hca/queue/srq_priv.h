/* SPDX-License-Identifier: BSD-2-Clause */
/* What the responder needs of shared receive queues. */
#ifndef HCA_SRQ_PRIV_H
#define HCA_SRQ_PRIV_H

#include "hca/queue/srq.h"

/* Inside an epoch section. */
struct hca_srq *hca_srq_find(uint32_t srqn);
/* Takes the next posted entry; false when there is none. The caller may hold a QP's lock. */
bool hca_srq_take(struct hca_srq *srq, struct hca_recv *out);

#endif
