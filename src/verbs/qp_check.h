/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queue pairs: checks of the arguments of a creation.
 */
#ifndef VERBS_QP_CHECK_H
#define VERBS_QP_CHECK_H

#include "verbs/public.h"

/* 0 or -errno. */
int vb_qp_check(struct ibv_context *context, const struct ibv_qp_init_attr_ex *attr,
		const void *driver_attr);

#endif
