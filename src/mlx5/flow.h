/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the two kinds of steering calls (flow.c, dr*.c) share: from what programs pass to the flow
 * engine's keys, edits, destinations and counters. No state.
 */
#ifndef MLX5_FLOW_H
#define MLX5_FLOW_H

#include "mlx5/dv.h"
#include "mlx5/objects.h"
#include "verbs/flow_types.h"

#define MLX5_FLOW_PRIORITIES 16u /* of a root table */
#define MLX5_FLOW_TAG_MOST   0xffffffu

/* The parts of match_criteria_enable; -EINVAL for too long a string, or criteria beyond. */
int mlx5_match_read(const struct mlx5dv_flow_match_parameters *match, uint8_t criteria,
		    struct flow_key *out);

/* -EINVAL where the reformat does not belong. */
int mlx5_reformat_create(enum flow_domain domain, unsigned int type, const void *data, size_t len,
			 struct flow_edit **out);
/* actions as programs pass them: big-endian commands of 8 bytes each, `size` bytes together. */
int mlx5_modify_create(const void *actions, size_t size, struct flow_edit **out);

/* flow_devx.c: -EINVAL for an object of another kind. */
int mlx5_flow_devx_dest(struct mlx5dv_devx_obj *obj, struct ether_dest **out);
/* The same, or a flow table, which the rule holds. */
int mlx5_flow_devx_step(struct mlx5dv_devx_obj *obj, struct flow_action *out);
/* Holds it; to be put. */
int mlx5_flow_devx_counter(struct mlx5dv_devx_obj *obj, uint32_t offset, struct flow_counter **out);

#endif
