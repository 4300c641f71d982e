/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Contexts: the driver's part of an open device, and address handles.
 */
#ifndef MLX4_CONTEXT_H
#define MLX4_CONTEXT_H

#include "mlx4/objects.h"

int mlx4_context_init(struct vb_context *ctx);
void mlx4_context_fini(struct vb_context *ctx);
void mlx4_init_ah(struct vb_ah *ah);

#endif
