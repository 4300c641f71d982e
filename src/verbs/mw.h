/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory windows.
 */
#ifndef VERBS_MW_H
#define VERBS_MW_H

#include "verbs/public.h"

struct ibv_mw *vb_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int vb_dealloc_mw(struct ibv_mw *mw);

#endif
