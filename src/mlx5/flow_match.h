/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Match parameters, reformats and header modifications, from what programs pass to the flow engine.
 */
#ifndef MLX5_FLOW_MATCH_H
#define MLX5_FLOW_MATCH_H

#include "mlx5/public.h"
#include "verbs/flow_types.h"

#define MLX5_FLOW_PRIORITIES 16u /* of a root table */
#define MLX5_FLOW_TAG_MOST   0xffffffu

/* Most bytes of match parameters: of commands and root tables, whose last part has no fields yet, and
 * of direct rules in other tables. */
#define MLX5_MATCH_BYTES    512u
#define MLX5_MATCH_BYTES_DR FLOW_KEY_BYTES

/* The parts of match_criteria_enable. -EINVAL for more bytes than `most`, or unknown criteria. */
int mlx5_match_read(const struct mlx5dv_flow_match_parameters *match, size_t most, uint8_t criteria,
		    struct flow_key *out);

/* -EINVAL for a reformat that the domain does not have. */
int mlx5_reformat_create(enum flow_domain domain, unsigned int type, const void *data, size_t len,
			 struct flow_edit **out);
/* actions as programs pass them: big-endian commands of 8 bytes each, `size` bytes together. */
int mlx5_modify_create(const void *actions, size_t size, struct flow_edit **out);

#endif
