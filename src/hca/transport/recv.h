/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Receive entries of a queue pair or its shared receive queue: taken by messages of the peer, completed,
 * flushed. Lock held, inside an epoch section.
 */
#ifndef HCA_RECV_H
#define HCA_RECV_H

#include "hca/transport/qp_types.h"

/* Takes the next entry into resp.recv; false: none is posted. `srq` NULL: the QP's own queue. */
bool recv_take(struct qp *qp, struct hca_srq *srq);
/* Completes the entry in resp.recv; the caller has filled in what the message says. */
void recv_complete(struct qp *qp, struct hca_cqe *cqe);
/* ... with an error, if a message had taken one. */
void recv_complete_error(struct qp *qp, enum hca_status status, uint8_t vendor);
void recv_flush(struct qp *qp);
/* The SRQ that a request is for: the QP's, or for XRC the one with this number; NULL: none. */
struct hca_srq *recv_srq(const struct qp *qp, uint32_t srqn);
/* The domain that keys of a request must belong to; `srqn` counts for XRC. */
uint32_t recv_pdn(const struct qp *qp, uint32_t srqn);
/* An XRC queue is destroyed: messages in progress that have taken one of its entries end. */
void recv_srq_gone(const struct hca_srq *srq);

#endif
