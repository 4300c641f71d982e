/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The adapter's clock against the wall clock.
 */
#ifndef MLX5_CLOCK_H
#define MLX5_CLOCK_H

#include "hca/device/adapter.h"
#include "mlx5/public.h"

#define MLX5_CLOCK_MASK ((uint64_t)INT64_MAX)

void mlx5_clock_read(const struct hca_adapter *adapter, struct mlx5dv_clock_info *out);

#endif
