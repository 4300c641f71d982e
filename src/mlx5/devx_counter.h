/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queue counters and flow counters.
 */
#ifndef MLX5_DEVX_COUNTER_H
#define MLX5_DEVX_COUNTER_H

#include "mlx5/devx_types.h"

/* The set of this number; NULL for 0. */
int devx_counters_find(struct devx_cmd *c, uint32_t id, struct hca_counters **out);

/* Commands. */
int devx_alloc_q_counter(struct devx_cmd *c);
int devx_query_q_counter(struct devx_cmd *c);
int devx_alloc_flow_counter(struct devx_cmd *c);
int devx_query_flow_counter(struct devx_cmd *c);

#endif
