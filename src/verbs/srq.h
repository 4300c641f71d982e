/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared receive queues.
 */
#ifndef VERBS_SRQ_H
#define VERBS_SRQ_H

#include "verbs/public.h"

struct ibv_srq *vb_create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *attr);
int vb_get_srq_num(struct ibv_srq *srq, uint32_t *number);

#endif
