/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Failures, as the transport tells them to inspect/failure.c: struct hca has the functions. Called with the QP's
 * lock held, inside an epoch section.
 */
#ifndef HCA_FAILURE_H
#define HCA_FAILURE_H

#include "hca/device/work.h"

struct qp;
struct req_slot;
struct roce_pkt;

struct failure_ops {
	/* A request completes with this error, which is not that it was flushed. */
	void (*request)(const struct qp *qp, const struct req_slot *slot, enum hca_status status,
			uint16_t vendor);
	/* A request of the peer is refused for good (enum fault); its packet, or NULL. */
	void (*refused)(const struct qp *qp, const struct roce_pkt *pkt, unsigned int fault,
			enum hca_status status);
};

#endif
