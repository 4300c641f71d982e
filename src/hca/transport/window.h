/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The requests of a send queue, in order: a window of those that were sent and not answered, then those
 * that were posted and not sent. Completions come in the order of the send queue, since the window is
 * emptied from its head only (IBTA volume 1, 9.9.2). Lock held, inside an epoch section.
 */
#ifndef HCA_WINDOW_H
#define HCA_WINDOW_H

#include "hca/transport/qp_types.h"
#include "hca/transport/run_result.h"

static inline struct req_slot *window_at(const struct requester *r, uint32_t i)
{
	return &r->window[i & (QP_WINDOW - 1)];
}

static inline bool window_is_empty(const struct requester *r)
{
	return r->head == r->tail;
}

/* The oldest request that waits for an answer, or NULL. */
static inline struct req_slot *window_head(const struct requester *r)
{
	return window_is_empty(r) ? NULL : window_at(r, r->head);
}

/* The request that entered last. */
static inline struct req_slot *window_last(const struct requester *r)
{
	return window_at(r, r->tail - 1);
}

void window_fill_slot(const struct qp *qp, const struct hca_send *s, struct req_slot *slot);
/* Completes the oldest request of the window, or one that never entered it. */
void window_complete(struct qp *qp, const struct req_slot *slot, enum hca_status status,
		     uint8_t vendor);
/* Completes the request at `next`, which is not in the window. */
void window_finish(struct qp *qp, const struct hca_send *s, enum hca_status status, uint8_t vendor);
/* Ends the request at `next` without a packet: at once, or behind requests that still wait. */
void window_finish_local(struct qp *qp, const struct hca_send *s);
/* The same, once a grace period has passed for a memory window that the request has ended. */
enum run_result window_await_grace(struct qp *qp, const struct hca_send *s);
/* An answer came that led on: timeouts and retries start anew. */
void window_progress(struct requester *r);
/*
 * Completes what an acknowledgement of `psn` covers. A read is done by its data only. Returns the
 * head after it.
 */
struct req_slot *window_ack(struct qp *qp, uint32_t psn);
/* Flushes the requests that were sent only. */
void window_flush(struct qp *qp);
/* Flushes every request that was posted. */
void window_flush_all(struct qp *qp);
/* Sends again from the oldest unanswered request on. */
void window_rewind(struct qp *qp);

#endif
