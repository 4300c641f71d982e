/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Steering anchors: numbers by which flow table entries jump to the rules of a root table, from a
 * priority on. An anchor is a DEVX flow table to which nothing can be added; entries that lead
 * there take a reference.
 */
#include <errno.h>
#include <stdlib.h>

#include "hca/raw/flow.h"
#include "mlx5/devx_flow_types.h"
#include "mlx5/devx_obj.h"
#include "mlx5/dv.h"
#include "mlx5/flow_match.h"
#include "mlx5/ifc_val.h"
#include "util/explain.h"

#define NUMBERS (1u << 24)

struct anchor {
	struct mlx5dv_steering_anchor pub;
	struct mlx5dv_devx_obj obj;
};

static const struct {
	enum flow_domain domain;
	uint8_t type;
} tables[] = {
	[MLX5DV_FLOW_TABLE_TYPE_NIC_RX] = { FLOW_RX, IFC_TABLE_NIC_RX },
	[MLX5DV_FLOW_TABLE_TYPE_NIC_TX] = { FLOW_TX, IFC_TABLE_NIC_TX },
	[MLX5DV_FLOW_TABLE_TYPE_FDB] = { FLOW_FDB, IFC_TABLE_FDB },
};

static int check(const struct mlx5dv_steering_anchor_attr *attr)
{
	if (attr->comp_mask)
		return explain(EOPNOTSUPP,
			       "mlx5dv_create_steering_anchor: comp_mask 0x%llx; no bit is known",
			       (unsigned long long)attr->comp_mask);
	if ((unsigned int)attr->ft_type >= array_size(tables))
		return explain(EOPNOTSUPP,
			       "mlx5dv_create_steering_anchor: ft_type %d; there are NIC_RX (0), "
			       "NIC_TX (1) and FDB (2)",
			       attr->ft_type);
	if (attr->priority >= MLX5_FLOW_PRIORITIES)
		return explain(EINVAL, "mlx5dv_create_steering_anchor: priority %u; 0 to %u exist",
			       attr->priority, MLX5_FLOW_PRIORITIES - 1);
	return 0;
}

static int make(struct mlx5_context *ctx, const struct mlx5dv_steering_anchor_attr *attr,
		struct anchor *a)
{
	struct devx_flow_table *t = calloc(1, sizeof(*t));
	struct ether_port *port;
	int err = t ? hca_flow_port(ctx->vb->adapter, 1, tables[attr->ft_type].domain, &port)
		    : -ENOMEM;

	if (!err)
		err = flow_table_root(port, tables[attr->ft_type].domain, &t->engine);
	if (err)
		goto free_table;
	t->domain = tables[attr->ft_type].domain;
	t->type = tables[attr->ft_type].type;
	t->level = UINT8_MAX; /* above all other tables */
	t->anchor = true;
	t->from = HCA_FLOW_PRIORITY(attr->priority, true);
	a->obj = (struct mlx5dv_devx_obj){ .devx = ctx->devx,
					   .kind = DEVX_FLOW_TABLE,
					   .flow_table = t };
	pthread_mutex_lock(&ctx->devx->lock);
	err = devx_number(&a->obj, 1, NUMBERS, 1);
	pthread_mutex_unlock(&ctx->devx->lock);
	if (err)
		goto free_table;
	a->pub.id = a->obj.number;
	return 0;
free_table:
	free(t);
	return err;
}

struct mlx5dv_steering_anchor *
mlx5dv_create_steering_anchor(struct ibv_context *context, struct mlx5dv_steering_anchor_attr *attr)
{
	struct mlx5_context *ctx = mlx5_dv_context(context, __func__);
	struct anchor *a;
	int err;

	if (!ctx)
		return NULL;
	err = check(attr);
	a = err ? NULL : calloc(1, sizeof(*a));
	if (!err)
		err = a ? make(ctx, attr, a) : -ENOMEM;
	if (!err)
		return &a->pub;
	free(a);
	errno = -err;
	return NULL;
}

int mlx5dv_destroy_steering_anchor(struct mlx5dv_steering_anchor *pub)
{
	struct anchor *a = container_of(pub, struct anchor, pub);
	struct devx *devx = a->obj.devx;
	unsigned int users;

	pthread_mutex_lock(&devx->lock);
	users = a->obj.users;
	if (!users)
		hca_table_set(devx->tables[DEVX_FLOW_TABLE], a->obj.number, NULL);
	pthread_mutex_unlock(&devx->lock);
	if (users)
		return -explain(EBUSY, "mlx5dv_destroy_steering_anchor: %u entries lead to it",
				users);
	free(a->obj.flow_table);
	free(a);
	return 0;
}
