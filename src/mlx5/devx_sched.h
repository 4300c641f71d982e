/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scheduling elements.
 */
#ifndef MLX5_DEVX_SCHED_H
#define MLX5_DEVX_SCHED_H

#include "mlx5/devx_types.h"

int devx_create_sched(struct devx_cmd *c);
int devx_query_sched(struct devx_cmd *c);
int devx_modify_sched(struct devx_cmd *c);

#endif
