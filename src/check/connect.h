/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Attributes of queue pairs and addresses that work here and fail elsewhere.
 */
#ifndef CHECK_CONNECT_H
#define CHECK_CONNECT_H

#include "check/queue.h"

void check_qp_modified(struct vb_qp *qp, const struct ibv_qp_attr *attr, int mask, int err);
/* A path that a request or a queue pair of the context takes. */
void check_connect_path(struct ibv_context *context, const struct ibv_ah_attr *path);

#endif
