/* SPDX-License-Identifier: BSD-2-Clause */
/* Commands on bonded links. */
#ifndef MLX5_DEVX_LAG_H
#define MLX5_DEVX_LAG_H

#include "mlx5/devx_types.h"

/* The affinity of a context; `none` if it names no link that there is. */
uint8_t devx_lag_of(const struct devx_cmd *c, uint64_t affinity, uint8_t none);

int devx_create_lag(struct devx_cmd *c);
int devx_query_lag(struct devx_cmd *c);
int devx_modify_lag(struct devx_cmd *c);
int devx_destroy_lag(struct devx_cmd *c);

#endif
