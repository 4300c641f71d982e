/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Flow tables, groups and entries of device commands: what devx_flow.c and devx_fte.c share.
 */
#ifndef MLX5_DEVX_FLOW_H
#define MLX5_DEVX_FLOW_H

#include "mlx5/devx.h"

struct devx_flow_table {
	struct flow_table *engine;
	enum flow_domain domain;
	uint8_t type, level;
	uint32_t size;
	bool anchor;   /* stands for a root (dv_anchor.c) */
	uint32_t from; /* ... and its rules of this priority and later ones */
	struct devx_flow_group *groups;
	struct hca_table entries; /* by index */
	/* where the rest goes */
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
	struct devx_flow_group *next;
};

struct devx_flow_entry {
	struct mlx5dv_devx_obj *table;
	struct flow_rule *rule;
	/* what it leads to and uses, counted */
	struct mlx5dv_devx_obj **refs;
	unsigned int ref_count;
};

/* The device's table_type as the engine's domain; refuses others. */
int devx_flow_domain(struct devx_cmd *c, unsigned int type, enum flow_domain *out);
/* 512 bytes of match parameters. */
int devx_flow_match(struct devx_cmd *c, const void *bytes, uint8_t criteria, struct flow_key *out);

#endif
