/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Flow tables, groups and entries made by device commands.
 */
#ifndef MLX5_DEVX_FLOW_TYPES_H
#define MLX5_DEVX_FLOW_TYPES_H

#include "hca/raw/flow.h"
#include "mlx5/devx_types.h"

/* Limits, as QUERY_HCA_CAP reports them. */
#define DEVX_FLOW_LEVELS   254u
#define DEVX_FLOW_LOG_SIZE 16u
#define DEVX_FLOW_DESTS    8u
#define DEVX_FLOW_MODIFY   32u

struct devx_flow_table {
	struct flow_table *engine;
	enum flow_domain domain;
	uint8_t type, level;
	uint32_t size;
	bool anchor;   /* an anchor: stands for a root table (dv_anchor.c) */
	uint32_t from; /* first priority of the root's rules */
	LIST_HEAD(, devx_flow_group) groups;
	struct hca_table entries; /* by index */
	/* table_miss_action */
	struct flow_matcher *miss_matcher;
	struct flow_rule *miss_rule;
	struct mlx5dv_devx_obj *miss;
};

struct devx_flow_group {
	struct mlx5dv_devx_obj *table;
	struct flow_matcher *engine;
	struct flow_key mask;
	uint32_t first, last;
	uint8_t criteria;
	LIST_ENTRY(devx_flow_group) link; /* once `table` is set */
};

struct devx_flow_entry {
	struct mlx5dv_devx_obj *table;
	struct flow_rule *rule;
	/* destinations and other objects that it uses */
	struct mlx5dv_devx_obj **refs;
	unsigned int ref_count;
};

#endif
