/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion queues.
 */
#ifndef MLX5_DEVX_CQ_H
#define MLX5_DEVX_CQ_H

#include "mlx5/devx_types.h"

void devx_cqc_fill(struct hca_cq *cq, void *cqc);

/* Commands. */
int devx_create_cq(struct devx_cmd *c);
int devx_query_cq(struct devx_cmd *c);
int devx_modify_cq(struct devx_cmd *c);

#endif
