/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Objects that are little more than their number: transport domains and general objects.
 */
#ifndef MLX5_DEVX_MISC_H
#define MLX5_DEVX_MISC_H

#include "mlx5/devx_types.h"

/* The bits of general_obj_types. */
uint64_t devx_general_types(void);

/* Commands. */
int devx_alloc_number(struct devx_cmd *c);
int devx_create_general(struct devx_cmd *c);
int devx_query_general(struct devx_cmd *c);
int devx_modify_general(struct devx_cmd *c);

#endif
