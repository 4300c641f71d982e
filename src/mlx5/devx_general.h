/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * General objects: one set of commands for objects of many types. A type may have functions of its
 * own; one without them is little more than its number, and a query returns what the program wrote.
 */
#ifndef MLX5_DEVX_GENERAL_H
#define MLX5_DEVX_GENERAL_H

#include "mlx5/devx_types.h"

/* The bits of general_obj_types for types from `first` on: 0, or 64 for general_obj_types_127_64. */
uint64_t devx_general_types(const struct hca_adapter *adapter, unsigned int first);
/* Releases what an object of this type has in the adapter; obj->hca is set. */
int devx_general_destroy(struct mlx5dv_devx_obj *obj);

/* Commands. */
int devx_create_general(struct devx_cmd *c);
int devx_query_general(struct devx_cmd *c);
int devx_modify_general(struct devx_cmd *c);

#endif
