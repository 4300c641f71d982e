/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Objects made by device commands that rules lead to, or feed.
 */
#include <errno.h>

#include "mlx5/flow.h"
#include "util/explain.h"

int mlx5_flow_devx_dest(struct mlx5dv_devx_obj *obj, struct ether_dest **out)
{
	return explain(EOPNOTSUPP, "the object cannot be a flow's destination");
}

int mlx5_flow_devx_counter(struct mlx5dv_devx_obj *obj, uint32_t offset, struct flow_counter **out)
{
	return explain(EOPNOTSUPP, "the object is no flow counter");
}
