/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HCA_REQUEST_FAIL_H
#define HCA_REQUEST_FAIL_H

#include "hca/transport/qp_types.h"

/*
 * Fails the request at `next`, which is not in the window, and the queue pair with it; the caller has
 * waited until all before it are complete. Lock held, inside an epoch section.
 */
void request_fail(struct qp *qp, const struct hca_send *s, enum hca_status status, uint16_t vendor);

#endif
