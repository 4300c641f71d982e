/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The order of actions in a rule.
 */
#ifndef MLX5_DR_ORDER_H
#define MLX5_DR_ORDER_H

#include "mlx5/dr_types.h"

bool dr_kind_is_end(enum dr_kind kind);
/* -EINVAL for too many of a kind, -EOPNOTSUPP for a wrong place. */
int dr_order_check(const struct mlx5dv_dr_table *t, size_t count,
		   struct mlx5dv_dr_action *const actions[]);

#endif
