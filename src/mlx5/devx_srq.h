/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared receive queues: SRQs, XRC SRQs and RMPs.
 */
#ifndef MLX5_DEVX_SRQ_H
#define MLX5_DEVX_SRQ_H

#include "mlx5/devx_types.h"

int devx_create_rmp(struct devx_cmd *c);
int devx_modify_rmp(struct devx_cmd *c);
int devx_query_rmp(struct devx_cmd *c);
int devx_create_xrc_srq(struct devx_cmd *c);
int devx_query_srq(struct devx_cmd *c);
int devx_create_srq(struct devx_cmd *c);
int devx_arm_rq(struct devx_cmd *c);
int devx_create_xrq(struct devx_cmd *c);
int devx_query_xrq(struct devx_cmd *c);
int devx_arm_xrq(struct devx_cmd *c);
int devx_set_xrq_dc(struct devx_cmd *c);

#endif
