/* SPDX-License-Identifier: BSD-2-Clause */
/* The send queue's requests are carried out; see requester.c. Lock held, inside an epoch section. */
#ifndef HCA_REQUESTER_H
#define HCA_REQUESTER_H

#include "hca/transport/qp_types.h"

/* Carries out requests from `next` on, as far as can be now. */
void requester_run(struct qp *qp);
/* A doorbell: `producer` is the slot behind the last request. */
static inline void requester_doorbell(struct qp *qp, uint32_t producer)
{
	qp->req.producer = producer;
	requester_run(qp);
}
/* Requests are sent from now on, the first with `psn`. */
void requester_start(struct qp *qp, uint32_t psn);
void requester_reset(struct qp *qp);
bool requester_has_work(const struct qp *qp);
/* SQD: posts the event once the window is empty. */
void requester_check_drained(struct qp *qp);
/* The link that the request at `next` waits for does not come about. */
void requester_give_up(struct qp *qp);

#endif
