/* SPDX-License-Identifier: BSD-2-Clause */
/* The general object that names the Geneve option which the adapter's parser looks for. */
#ifndef MLX5_DEVX_GENEVE_H
#define MLX5_DEVX_GENEVE_H

#include "mlx5/devx_types.h"

#define DEVX_GENEVE_OPTIONS   1u
#define DEVX_GENEVE_DATA_MOST 31u /* words */

int devx_geneve_create(struct devx_cmd *c);
int devx_geneve_modify(struct devx_cmd *c);
int devx_geneve_destroy(struct mlx5dv_devx_obj *obj);

#endif
