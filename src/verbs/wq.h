/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Work queues and indirection tables among the library's files.
 */
#ifndef VERBS_WQ_H
#define VERBS_WQ_H

#include "util/api.h"
#include "verbs/objects.h"

/* ibv_create_wq() that hands driver_attr to the driver's create_wq. */
VB_API struct ibv_wq *verbena_create_wq(struct ibv_context *context, struct ibv_wq_init_attr *attr,
					const void *driver_attr);

/* The table when it is one of this context that lives; NULL otherwise, whatever the pointer is. */
struct vb_ind_table *vb_ind_table_find(struct ibv_context *context,
				       const struct ibv_rwq_ind_table *table);

#endif
