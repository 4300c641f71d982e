/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Capabilities.
 */
#ifndef MLX5_DEVX_CAP_H
#define MLX5_DEVX_CAP_H

#include "mlx5/devx_types.h"

int devx_query_hca_cap(struct devx_cmd *c);
int devx_set_hca_cap(struct devx_cmd *c);

#endif
