/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The context check of direct verbs, and limits.
 */
#ifndef MLX5_DV_H
#define MLX5_DV_H

#include "mlx5/public.h"

struct mlx5_context;

/* The driver's context, or NULL and errno EOPNOTSUPP for another driver's. */
struct mlx5_context *mlx5_dv_context(struct ibv_context *context, const char *call);

/* log2 of the most streams of a DC initiator, and of the most that may be in error. */
#define MLX5_LOG_STREAMS 8u

#endif
