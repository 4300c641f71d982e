/* SPDX-License-Identifier: BSD-2-Clause */
/* Protection domains of librdmacm. */
#ifndef VERBS_PD_H
#define VERBS_PD_H

#include "util/api.h"
#include "verbs/public.h"

/*
 * As ibv_dealloc_pd(), also when the adapter was removed. 0 or an errno. The default PD of ids is not the
 * program's, so no program can be asked to set RDMAV_ALLOW_DISASSOC_DESTROY for it.
 */
VB_API int verbena_dealloc_pd(struct ibv_pd *pd);

#endif
