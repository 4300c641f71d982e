/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Work queues and indirection tables.
 */
#ifndef VERBS_WQ_H
#define VERBS_WQ_H

#include "util/api.h"
#include "verbs/objects.h"

struct ibv_wq *vb_create_wq(struct ibv_context *context, struct ibv_wq_init_attr *attr);
int vb_modify_wq(struct ibv_wq *wq, struct ibv_wq_attr *attr);
int vb_destroy_wq(struct ibv_wq *wq);
struct ibv_rwq_ind_table *vb_create_rwq_ind_table(struct ibv_context *context,
						  struct ibv_rwq_ind_table_init_attr *attr);
int vb_destroy_rwq_ind_table(struct ibv_rwq_ind_table *table);

/* ibv_create_wq() that hands driver_attr to the driver's create_wq. */
VB_API struct ibv_wq *verbena_create_wq(struct ibv_context *context, struct ibv_wq_init_attr *attr,
					const void *driver_attr);

/* The table when it is a live one of this context; NULL otherwise, whatever the pointer is. */
struct vb_ind_table *vb_ind_table_find(struct ibv_context *context,
				       const struct ibv_rwq_ind_table *table);

#endif
