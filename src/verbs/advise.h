/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Advice on memory regions.
 */
#ifndef VERBS_ADVISE_H
#define VERBS_ADVISE_H

#include "verbs/public.h"

int vb_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		 struct ibv_sge *list, uint32_t count);

#endif
