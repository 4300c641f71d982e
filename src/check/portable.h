/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sizes and capabilities that other adapters do not have, in programs that have not asked for the limits.
 */
#ifndef CHECK_PORTABLE_H
#define CHECK_PORTABLE_H

#include "check/place.h"
#include "verbs/objects.h"

void check_portable_qp(const struct vb_qp *qp);
void check_portable_cq(const struct vb_cq *cq);
void check_portable_mr(const struct vb_mr *mr);
/* An atomic operation is posted. */
void check_portable_atomic(struct ibv_context *context, const struct check_place *place);

#endif
