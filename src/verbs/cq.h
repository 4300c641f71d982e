/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion queues.
 */
#ifndef VERBS_CQ_H
#define VERBS_CQ_H

#include "util/api.h"
#include "verbs/public.h"

struct ibv_cq_ex *vb_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr);
int vb_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr);

/* ibv_create_cq_ex() that hands driver_attr to the driver's create_cq. */
VB_API struct ibv_cq_ex *verbena_create_cq_ex(struct ibv_context *context,
					      struct ibv_cq_init_attr_ex *attr,
					      const void *driver_attr);

#endif
