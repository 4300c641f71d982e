/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Thread domains and parent domains.
 */
#ifndef VERBS_PARENT_H
#define VERBS_PARENT_H

#include "verbs/objects.h"

struct ibv_td *vb_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr);
int vb_dealloc_td(struct ibv_td *td);
struct ibv_pd *vb_alloc_parent_domain(struct ibv_context *context,
				      struct ibv_parent_domain_init_attr *attr);

/* -EBUSY while objects use the parent domain. */
int vb_parent_dealloc(struct vb_pd *pd);

#endif
