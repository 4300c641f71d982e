/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The public calls. Each takes certain commands (enum devx_verb).
 */
#include "mlx5/devx.h"

#include <errno.h>
#include <stdlib.h>

#include "mlx5/devx_cmd.h"
#include "mlx5/devx_destroy.h"
#include "mlx5/devx_exec.h"
#include "mlx5/devx_share.h"
#include "mlx5/dv.h"
#include "util/explain.h"

int mlx5dv_devx_general_cmd(struct ibv_context *context, const void *in, size_t inlen, void *out,
			    size_t outlen)
{
	struct mlx5_context *ctx = mlx5_dv_context(context, __func__);

	if (!ctx)
		return errno;
	return -devx_exec(ctx->devx, DEVX_GENERAL_CMD, NULL, in, inlen, out, outlen);
}

struct mlx5dv_devx_obj *devx_create(struct devx *devx, enum devx_verb verb, const void *in,
				    size_t inlen, void *out, size_t outlen)
{
	struct mlx5dv_devx_obj *obj = calloc(1, sizeof(*obj));
	int err;

	if (!obj) {
		errno = ENOMEM;
		return NULL;
	}
	obj->devx = devx;
	err = devx_exec(devx, verb, obj, in, inlen, out, outlen);
	pthread_mutex_lock(&devx->lock);
	if (err) {
		devx_obj_abort(obj);
	} else {
		obj->handle = ++devx->handles;
		LIST_INSERT_HEAD(&devx->objs, obj, link);
	}
	pthread_mutex_unlock(&devx->lock);
	if (!err)
		return obj;
	errno = -err;
	return NULL;
}

struct mlx5dv_devx_obj *mlx5dv_devx_obj_create(struct ibv_context *context, const void *in,
					       size_t inlen, void *out, size_t outlen)
{
	struct mlx5_context *ctx = mlx5_dv_context(context, __func__);

	return ctx ? devx_create(ctx->devx, DEVX_CREATE, in, inlen, out, outlen) : NULL;
}

int mlx5dv_devx_obj_query(struct mlx5dv_devx_obj *obj, const void *in, size_t inlen, void *out,
			  size_t outlen)
{
	return -devx_share_exec(obj, DEVX_QUERY, in, inlen, out, outlen);
}

int mlx5dv_devx_obj_modify(struct mlx5dv_devx_obj *obj, const void *in, size_t inlen, void *out,
			   size_t outlen)
{
	return -devx_share_exec(obj, DEVX_MODIFY, in, inlen, out, outlen);
}

int mlx5dv_devx_obj_destroy(struct mlx5dv_devx_obj *obj)
{
	return -devx_share_destroy(obj);
}

struct mlx5dv_devx_eq *mlx5dv_devx_create_eq(struct ibv_context *context, const void *in,
					     size_t inlen, void *out, size_t outlen)
{
	struct mlx5_context *ctx = mlx5_dv_context(context, __func__);
	struct mlx5dv_devx_obj *obj;

	if (!ctx)
		return NULL;
	if (!in || inlen < ifc_len(create_eq_in) || ifc_get(in, cmd_in, opcode) != IFC_OP_CREATE_EQ)
		return explain_null(EINVAL, "mlx5dv_devx_create_eq: the input is no CREATE_EQ");
	if (!ifc_get(ifc_cptr(in, create_eq_in, eq_context_entry), eqc, intr))
		return explain_null(EINVAL,
				    "mlx5dv_devx_create_eq: eqc.intr is 0, the adapter's own "
				    "vector; mlx5dv_devx_alloc_msi_vector() gives others");
	obj = devx_create(ctx->devx, DEVX_CREATE_EQ, in, inlen, out, outlen);
	return obj ? &obj->user_eq->pub : NULL;
}

int mlx5dv_devx_destroy_eq(struct mlx5dv_devx_eq *pub)
{
	struct devx_user_eq *eq = container_of(pub, struct devx_user_eq, pub);

	if (!pub)
		return -explain(EINVAL, "mlx5dv_devx_destroy_eq: there is no event queue");
	return mlx5dv_devx_obj_destroy(eq->obj);
}
