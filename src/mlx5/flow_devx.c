/* SPDX-License-Identifier: BSD-2-Clause */
#include "mlx5/flow_devx.h"

#include <errno.h>

#include "hca/raw/flow.h"
#include "mlx5/devx_flow_types.h"
#include "mlx5/devx_types.h"
#include "util/explain.h"

int mlx5_flow_devx_dest(struct mlx5dv_devx_obj *obj, struct ether_dest **out)
{
	if (!obj || obj->kind != DEVX_TIR)
		return explain(EINVAL, "the object cannot be a flow's destination; a TIR can");
	if (!obj->rss)
		return explain(EOPNOTSUPP,
			       "TIR 0x%x leads to queues on shared memory, which frames do "
			       "not reach",
			       obj->number);
	*out = &obj->rss->dest;
	return 0;
}

int mlx5_flow_devx_step(struct mlx5dv_devx_obj *obj, struct flow_action *out)
{
	if (!obj || obj->kind != DEVX_FLOW_TABLE) {
		out->op = FLOW_OP_DEST;
		return mlx5_flow_devx_dest(obj, &out->dest);
	}
	*out = (struct flow_action){ .op = FLOW_OP_TABLE, .table = obj->flow_table->engine };
	return 0;
}

int mlx5_flow_devx_counter(struct mlx5dv_devx_obj *obj, uint32_t offset, struct flow_counter **out)
{
	if (!obj || obj->kind != DEVX_FLOW_COUNTER)
		return explain(EINVAL, "the object is no flow counter");
	if (offset >= obj->count)
		return explain(EINVAL, "counter %u of a bulk of %u", offset, obj->count);
	*out = flow_counter_get(&obj->counters[offset]);
	return 0;
}
