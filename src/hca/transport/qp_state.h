/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state machine of queue pairs as a table (IBTA volume 1, 10.3.1 and 11.2.5.2).
 */
#ifndef HCA_QP_STATE_H
#define HCA_QP_STATE_H

#include "hca/transport/hca_qp.h"

/* 0, or -EINVAL: no such transition for this type, or an attribute is missing or out of place. */
int qp_state_check(enum hca_qp_type type, enum hca_qp_state from, enum hca_qp_state to,
		   uint32_t mask);
const char *qp_state_name(enum hca_qp_state state);

#endif
