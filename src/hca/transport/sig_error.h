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

/* To be called after every movement of data for a request of this queue pair, or of its peer. */
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

#endif
