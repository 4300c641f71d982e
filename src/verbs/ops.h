/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The dispatch tables of a context.
 */
#ifndef VERBS_OPS_H
#define VERBS_OPS_H

#include "verbs/public.h"

/* Fills every entry: with the library's call, or an answer of EOPNOTSUPP. Drivers then add theirs. */
void vb_ops_init(struct verbs_context *verbs);

#endif
