/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Creation of completion queues for a driver's own create call.
 */
#ifndef VERBS_CQ_H
#define VERBS_CQ_H

#include "util/api.h"
#include "verbs/public.h"

/* ibv_create_cq_ex() that hands driver_attr to the driver's create_cq. */
VB_API struct ibv_cq_ex *verbena_create_cq_ex(struct ibv_context *context,
					      struct ibv_cq_init_attr_ex *attr,
					      const void *driver_attr);

#endif
