/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Acknowledgements, of which one serves many requests, and refusals. None overtakes the answer to a read
 * or an atomic (resource.c). Lock held, inside an epoch section.
 */
#ifndef HCA_ANSWER_H
#define HCA_ANSWER_H

#include "hca/transport/qp_types.h"

/* Sends the acknowledgement and the refusal that are due. False when there was no room. */
bool answer_send_ack(struct qp *qp);
/* Refuses the request that is expected now. */
void answer_refuse(struct qp *qp, uint8_t syndrome);
/* Acknowledges at the end of the batch that is being received. */
void answer_ack_later(struct qp *qp, struct hca_acks *acks);
/* Puts the QP on the list of those that owe an acknowledgement at the end of the batch. */
void answer_list_ack(struct qp *qp, struct hca_acks *acks);
/* The QP stops, or ends: what it owes leaves now. */
void answer_settle(struct qp *qp);

#endif
