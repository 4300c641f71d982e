/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Access registers.
 */
#ifndef MLX5_DEVX_REG_H
#define MLX5_DEVX_REG_H

#include "mlx5/devx_types.h"

int devx_access_reg(struct devx_cmd *c);

#endif
