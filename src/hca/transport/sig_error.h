/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Wrong signatures of the keys that a queue pair moves data for (memory/signature_error.h). The program
 * gets a completion for it, before that of the transfer. Lock held, inside the epoch section
 * in which the data was moved.
 */
#ifndef HCA_SIG_ERROR_H
#define HCA_SIG_ERROR_H

#include "hca/memory/signature_error.h"
#include "hca/transport/qp_types.h"

/* `request`: of the queue pair itself, which then may have to stop. */
void sig_error_tell(struct qp *qp, bool request);
/* Reports errors of frames that came to a receive queue. */
void sig_error_tell_queue(struct hca_cq *cq, uint32_t number, uint32_t user_index);

/*
 * Calls after every movement of data, successful or not: for a request of this queue pair, of its peer, or
 * for a receive queue. An error that stays in the list is reported by the next queue pair that this thread
 * works for.
 */
static inline void sig_error_of_request(struct qp *qp)
{
	if (signature_has_errors())
		sig_error_tell(qp, true);
}

static inline void sig_error_of_peer(struct qp *qp)
{
	if (signature_has_errors())
		sig_error_tell(qp, false);
}

static inline void sig_error_of_frame(struct hca_cq *cq, uint32_t number, uint32_t user_index)
{
	if (signature_has_errors())
		sig_error_tell_queue(cq, number, user_index);
}

#endif
