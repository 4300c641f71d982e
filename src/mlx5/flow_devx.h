/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * DEVX objects as destinations and counters of flow rules.
 */
#ifndef MLX5_FLOW_DEVX_H
#define MLX5_FLOW_DEVX_H

#include "mlx5/devx_types.h"
#include "verbs/flow_types.h"

/* -EINVAL for an object of another kind. */
int mlx5_flow_devx_dest(struct mlx5dv_devx_obj *obj, struct ether_dest **out);
/* A destination as above, or a flow table, on which the rule takes a reference. */
int mlx5_flow_devx_step(struct mlx5dv_devx_obj *obj, struct flow_action *out);
/* Takes a reference. */
int mlx5_flow_devx_counter(struct mlx5dv_devx_obj *obj, uint32_t offset, struct flow_counter **out);

#endif
