/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Contexts: the driver's part of an open device, and address handles.
 */
#ifndef MLX5_CONTEXT_H
#define MLX5_CONTEXT_H

#include "mlx5/objects.h"

int mlx5_context_init(struct vb_context *ctx);
void mlx5_context_fini(struct vb_context *ctx);
void mlx5_init_ah(struct vb_ah *ah);

#endif
