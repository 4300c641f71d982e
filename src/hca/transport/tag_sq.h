/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The send queue of a queue pair whose receive queue matches tags. It is the adapter's: a rendezvous that was
 * matched is a READ of the data into the tagged buffer, and a message (FIN) that tells the sender. Both are
 * requests like any other, from a queue that stands in the place of the ring. QP's lock held.
 */
#ifndef HCA_TAG_SQ_H
#define HCA_TAG_SQ_H

#include "hca/transport/qp_types.h"

#define TAG_FIN_BYTES 32u

struct tag_job {
	struct hca_sge to; /* as long as the data */
	uint64_t va;
	uint32_t rkey;
	uint16_t index;             /* of the tagged buffer */
	uint8_t fin[TAG_FIN_BYTES]; /* the headers of the request, with another opcode */
};

/* Does nothing unless the QP has a tag matching receive queue and no send ring of its own. 0 or -ENOMEM. */
int tag_sq_init(struct qp *qp);
void tag_sq_fini(struct qp *qp);
void tag_sq_reset(struct tag_sq *sq);

/* False: no memory. The caller runs the requester. */
bool tag_sq_add(struct tag_sq *sq, const struct tag_job *job);
/* The request at `index` has ended: the READ completes the tagged buffer. */
void tag_sq_done(struct qp *qp, uint32_t index, bool good);

#endif
