/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HCA_QP_MODIFY_H
#define HCA_QP_MODIFY_H

#include "hca/transport/hca_qp.h"

/* Checks everything before it changes anything. */
VB_API int hca_qp_modify(struct hca_qp *qp, const struct hca_qp_attr *attr, uint32_t mask);

#endif
