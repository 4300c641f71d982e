/* SPDX-License-Identifier: BSD-2-Clause */
/* Faults of the peer's requests, and their effects. Lock held, inside an epoch section. */
#ifndef HCA_FAULT_H
#define HCA_FAULT_H

#include "hca/transport/qp_types.h"

enum fault {
	FAULT_NONE,
	FAULT_WAIT,       /* no receive entry: RNR, or dropped */
	FAULT_INVALID,    /* malformed, wrong opcode sequence, too long, too many */
	FAULT_ACCESS,     /* key, range or right */
	FAULT_INVALIDATE, /* the key of a SEND with invalidate */
	FAULT_LOCAL,      /* the receive entry is bad */
	FAULT_FETCH,      /* payload by reference that cannot be fetched */
};

/* The effects of the fault on the message, the queue pair and the requester. */
void fault_handle(struct qp *qp, enum fault f, enum hca_status recv_status);
/*
 * Refuses the expected packet for now: it is to come again, and so are those behind it. What is under way
 * of these is dropped without an answer (IBTA volume 1, 9.7.5.2.8).
 */
void fault_refuse_for_now(struct qp *qp, uint8_t syndrome);

#endif
