/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Direct verbs: what their files share.
 */
#ifndef MLX5_DV_H
#define MLX5_DV_H

#include "mlx5/public.h"

struct mlx5_context;

/* The driver's context, or NULL and errno EOPNOTSUPP when it is another driver's. */
struct mlx5_context *mlx5_dv_context(struct ibv_context *context, const char *call);

/* The longest copy that one request asks for. */
#define MLX5_MEMCPY_MAX (16u << 20)

/* The most streams of a DC initiator, and the most that may fail. */
#define MLX5_LOG_STREAMS 8u

#endif
