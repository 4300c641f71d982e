/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HCA_ACK_LIST_H
#define HCA_ACK_LIST_H

struct qp;

/* QPs whose acknowledgement waits until everything that has arrived is handled. */
struct hca_acks {
	struct qp *qp[16];
	unsigned int count;
};

#endif
