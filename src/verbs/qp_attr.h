/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queue pairs: attributes.
 */
#ifndef VERBS_QP_ATTR_H
#define VERBS_QP_ATTR_H

#include "verbs/public.h"

int vb_modify_qp_rate_limit(struct ibv_qp *qp, struct ibv_qp_rate_limit_attr *attr);

#endif
