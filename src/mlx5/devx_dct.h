/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * DC targets.
 */
#ifndef MLX5_DEVX_DCT_H
#define MLX5_DEVX_DCT_H

#include "mlx5/devx_types.h"

int devx_create_dct(struct devx_cmd *c);
int devx_query_dct(struct devx_cmd *c);
int devx_drain_dct(struct devx_cmd *c);

#endif
