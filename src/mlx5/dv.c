/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Direct verbs that open devices and create CQs with more attributes than verbs have.
 */
#include "mlx5/dv.h"

#include <errno.h>

#include "mlx5/objects.h"
#include "mlx5/privilege.h"
#include "util/explain.h"
#include "verbs/cq.h"

struct mlx5_context *mlx5_dv_context(struct ibv_context *context, const char *call)
{
	if (context && to_context(context)->adapter->model->driver == HCA_DRIVER_MLX5)
		return mlx5_ctx_of(context);
	errno = -explain(EOPNOTSUPP, "%s: not a context of a ConnectX-4 or later", call);
	return NULL;
}

bool mlx5dv_is_supported(struct ibv_device *device)
{
	return device && to_device(device)->adapter->model->driver == HCA_DRIVER_MLX5;
}

struct ibv_context *mlx5dv_open_device(struct ibv_device *device, struct mlx5dv_context_attr *attr)
{
	struct ibv_context *context;
	uint32_t privileges = 0;
	int err;

	if (!mlx5dv_is_supported(device))
		return explain_null(EOPNOTSUPP,
				    "mlx5dv_open_device: not a ConnectX-4 or later device");
	if (attr && attr->comp_mask & ~(uint64_t)MLX5DV_CONTEXT_ATTR_MASK_FD_ARRAY)
		return explain_null(EINVAL, "mlx5dv_open_device: comp_mask 0x%llx; 0x%x is known",
				    (unsigned long long)attr->comp_mask,
				    MLX5DV_CONTEXT_ATTR_MASK_FD_ARRAY);
	/* Device commands work in every context. */
	if (attr && attr->flags & ~(uint32_t)MLX5DV_CONTEXT_FLAGS_DEVX)
		return explain_null(EINVAL, "mlx5dv_open_device: flags 0x%x are unknown",
				    attr->flags);
	if (attr && attr->comp_mask & MLX5DV_CONTEXT_ATTR_MASK_FD_ARRAY) {
		err = mlx5_privileges_of(to_device(device)->adapter, attr->fds, &privileges);
		if (err) {
			errno = -err;
			return NULL;
		}
	}
	context = ibv_open_device(device);
	if (context)
		mlx5_ctx_of(context)->privileges = privileges;
	return context;
}

static int check_cq_attr(const struct mlx5dv_cq_init_attr *attr)
{
	const uint64_t known = MLX5DV_CQ_INIT_ATTR_MASK_COMPRESSED_CQE |
			       MLX5DV_CQ_INIT_ATTR_MASK_FLAGS | MLX5DV_CQ_INIT_ATTR_MASK_CQE_SIZE;

	if (attr->comp_mask & ~known)
		return explain(EINVAL, "mlx5dv_create_cq: comp_mask 0x%llx; 0x%llx is known",
			       (unsigned long long)attr->comp_mask, (unsigned long long)known);
	if (attr->comp_mask & MLX5DV_CQ_INIT_ATTR_MASK_COMPRESSED_CQE &&
	    attr->cqe_comp_res_format != MLX5DV_CQE_RES_FORMAT_HASH &&
	    attr->cqe_comp_res_format != MLX5DV_CQE_RES_FORMAT_CSUM &&
	    attr->cqe_comp_res_format != MLX5DV_CQE_RES_FORMAT_CSUM_STRIDX)
		return explain(EINVAL,
			       "mlx5dv_create_cq: cqe_comp_res_format %u; expected 1, 2 or 4",
			       attr->cqe_comp_res_format);
	/* CQEs are always written whole: padding changes nothing. */
	if (attr->comp_mask & MLX5DV_CQ_INIT_ATTR_MASK_FLAGS &&
	    attr->flags & ~MLX5DV_CQ_INIT_ATTR_FLAGS_CQE_PAD)
		return explain(EINVAL, "mlx5dv_create_cq: flags 0x%x; 0x%x is offered", attr->flags,
			       MLX5DV_CQ_INIT_ATTR_FLAGS_CQE_PAD);
	if (attr->comp_mask & MLX5DV_CQ_INIT_ATTR_MASK_FLAGS && attr->flags &&
	    (!(attr->comp_mask & MLX5DV_CQ_INIT_ATTR_MASK_CQE_SIZE) || attr->cqe_size != 128))
		return explain(EINVAL, "mlx5dv_create_cq: padding is for entries of 128 bytes");
	if (attr->comp_mask & MLX5DV_CQ_INIT_ATTR_MASK_CQE_SIZE && attr->cqe_size != 64 &&
	    attr->cqe_size != 128)
		return explain(EINVAL, "mlx5dv_create_cq: cqe_size %u; expected 64 or 128",
			       attr->cqe_size);
	return 0;
}

struct ibv_cq_ex *mlx5dv_create_cq(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr,
				   struct mlx5dv_cq_init_attr *extra)
{
	int err;

	if (!mlx5_dv_context(context, __func__))
		return NULL;
	err = extra ? check_cq_attr(extra) : 0;
	if (err) {
		errno = -err;
		return NULL;
	}
	return verbena_create_cq_ex(context, attr, extra);
}
