/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Flow tables and groups, and the edits that their entries use.
 */
#ifndef MLX5_DEVX_FLOW_H
#define MLX5_DEVX_FLOW_H

#include "mlx5/devx_flow_types.h"

/* The device's table_type as the engine's domain; refuses others. */
int devx_flow_domain(struct devx_cmd *c, unsigned int type, enum flow_domain *out);
/* 512 bytes of match parameters. */
int devx_flow_match(struct devx_cmd *c, const void *bytes, uint8_t criteria, struct flow_key *out);
int devx_flow_table_destroy(struct mlx5dv_devx_obj *obj);
int devx_flow_group_destroy(struct mlx5dv_devx_obj *obj);

/* Commands. */
int devx_create_flow_table(struct devx_cmd *c);
int devx_query_flow_table(struct devx_cmd *c);
int devx_modify_flow_table(struct devx_cmd *c);
int devx_create_flow_group(struct devx_cmd *c);
int devx_query_flow_group(struct devx_cmd *c);
int devx_alloc_reformat(struct devx_cmd *c);
int devx_alloc_modify_header(struct devx_cmd *c);

#endif
