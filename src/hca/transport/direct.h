/* SPDX-License-Identifier: BSD-2-Clause */
/* One-sided work on mapped memory; see direct.c. Lock held, inside an epoch section. */
#ifndef HCA_DIRECT_H
#define HCA_DIRECT_H

#include "hca/transport/qp_types.h"

enum direct_result {
	DIRECT_DONE,
	DIRECT_NO, /* not possible: use packets, which also find out what is wrong */
	DIRECT_LOCAL_ERROR,
};

enum direct_result direct_execute(struct qp *qp, struct hca_send *s);
/* Asks the peer for an acknowledgement that it was allowed to delay. False when there was no room. */
bool direct_hurry(struct qp *qp);

#endif
