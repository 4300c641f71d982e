/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Objects that are little more than their number: transport domains.
 */
#ifndef MLX5_DEVX_MISC_H
#define MLX5_DEVX_MISC_H

#include "mlx5/devx_types.h"

/* A command. */
int devx_alloc_number(struct devx_cmd *c);

#endif
