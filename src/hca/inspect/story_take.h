/* SPDX-License-Identifier: BSD-2-Clause */
/* Takes down what is known of a queue pair. Its lock is held, inside an epoch section. */
#ifndef HCA_STORY_TAKE_H
#define HCA_STORY_TAKE_H

#include "hca/inspect/story.h"
#include "hca/transport/fault.h"

struct req_slot;
struct roce_pkt;

/* Everything but the failure. */
void story_take_qp(const struct qp *qp, struct hca_story *out);
/* The request in this slot of the send queue. */
void story_take_request(const struct qp *qp, const struct req_slot *slot,
			struct story_request *out);
/* The elements of a request that failed with a local error: which, and why. */
void story_take_local(const struct qp *qp, const struct req_slot *slot, struct hca_story *out);
/* A request of the peer, and why it is refused. */
void story_take_refused(const struct qp *qp, const struct roce_pkt *pkt, enum fault f,
			enum hca_status status, struct hca_story *out);

#endif
