/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests of the send queue: how they complete, with or without packets, are flushed, and are sent again.
 * Lock held, inside an epoch section.
 */
#ifndef HCA_REQUEST_H
#define HCA_REQUEST_H

#include "hca/transport/qp_types.h"
#include "hca/transport/run_result.h"

/* Adds the completion of a request that has left the window, or never entered it. */
void request_complete(struct qp *qp, const struct req_slot *slot, enum hca_status status,
		      uint16_t vendor);
/* Completes the request at `next`, which is not in the window. */
void request_finish(struct qp *qp, const struct hca_send *s, enum hca_status status,
		    uint16_t vendor);
/* Ends the request at `next` without a packet: at once, or behind requests that still wait. */
void request_finish_local(struct qp *qp, const struct hca_send *s);
/* Ends the request at `next` as request_finish_local() does, once a grace period has passed for a memory window that the request has ended. */
enum run_result request_await_grace(struct qp *qp, const struct hca_send *s);
/*
 * Completes what an acknowledgement of `psn` covers. A read is done by its data only. Returns the
 * oldest request after it.
 */
struct req_slot *request_retire(struct qp *qp, uint32_t psn);
/* Takes the oldest request out of the window without an answer. */
struct req_slot request_abandon(struct qp *qp);
/* Flushes the requests that were sent only. */
void request_flush(struct qp *qp);
/* Flushes every request that was posted. */
void request_flush_all(struct qp *qp);
/* Sends again from the oldest unanswered request on. */
void request_rewind(struct qp *qp);

#endif
