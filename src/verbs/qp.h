/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queue pairs: creation.
 */
#ifndef VERBS_QP_H
#define VERBS_QP_H

#include "util/api.h"
#include "verbs/objects.h"

struct ibv_qp *vb_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr);

/* ibv_create_qp_ex() that hands driver_attr to the driver's check_driver_qp and create_qp. */
VB_API struct ibv_qp *verbena_create_qp_ex(struct ibv_context *context,
					   struct ibv_qp_init_attr_ex *attr, void *driver_attr);

#endif
