/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Send queues.
 */
#ifndef MLX5_DEVX_SQ_H
#define MLX5_DEVX_SQ_H

#include "mlx5/devx_types.h"

int devx_create_sq(struct devx_cmd *c);
int devx_modify_sq(struct devx_cmd *c);
int devx_query_sq(struct devx_cmd *c);

#endif
