/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory keys and PSVs.
 */
#ifndef MLX5_DEVX_MKEY_H
#define MLX5_DEVX_MKEY_H

#include "mlx5/devx_types.h"

int devx_create_mkey(struct devx_cmd *c);
int devx_query_mkey(struct devx_cmd *c);

#endif
