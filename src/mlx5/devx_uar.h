/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * UAR pages of programs.
 */
#ifndef MLX5_DEVX_UAR_H
#define MLX5_DEVX_UAR_H

#include "mlx5/devx_types.h"

/* The page of this number, which must be the context's; its doorbells are watched from now on. */
int devx_uar_use(struct devx_cmd *c, uint32_t id, struct hca_uar **out);
void devx_uars_fini(struct devx *devx);

#endif
