/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Contexts whose adapter was removed. What a driver asks the kernel for fails with EIO then; queues that
 * exist are read and written as before.
 */
#ifndef VERBS_REMOVAL_H
#define VERBS_REMOVAL_H

#include "verbs/public.h"

/* 0, or -EIO when the adapter was removed. */
int vb_check_present(struct ibv_context *context);
/* Calls that destroy: likewise, but 0 when the environment has RDMAV_ALLOW_DISASSOC_DESTROY. */
int vb_check_destroy(struct ibv_context *context);

#endif
