/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Indirection tables among the library's files.
 */
#ifndef VERBS_WQ_H
#define VERBS_WQ_H

#include "verbs/objects.h"

/* The table when it is one of this context that lives; NULL otherwise, whatever the pointer is. */
struct vb_ind_table *vb_ind_table_find(struct ibv_context *context,
				       const struct ibv_rwq_ind_table *table);

#endif
