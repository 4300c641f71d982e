/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Device memory.
 */
#ifndef VERBS_DM_H
#define VERBS_DM_H

#include "verbs/public.h"

struct ibv_dm *vb_alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr);
int vb_free_dm(struct ibv_dm *dm);
struct ibv_mr *vb_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t offset, size_t length,
			    unsigned int access);

#endif
