/* SPDX-License-Identifier: BSD-2-Clause */
/* Changes of a queue pair's state, and what they set going. Lock held, inside an epoch section. */
#ifndef HCA_QP_FAIL_H
#define HCA_QP_FAIL_H

#include "hca/device/async.h"
#include "hca/transport/qp_types.h"

/* The only function that changes the state. */
void qp_set_state(struct qp *qp, enum hca_qp_state state);
/* Moves to ERR and flushes. */
void qp_fail(struct qp *qp);
/* A request failed: moves to ERR, or to SQE (UC, UD), or fails one stream (DCI). */
void qp_fail_send(struct qp *qp);
/* Posts an asynchronous event to the owner of the QP and to every other handle on it. */
void qp_event(struct qp *qp, enum hca_event_type type);
/* To the handles of this process. */
void qp_tell_listeners(struct qp *qp, enum hca_event_type type);

#endif
