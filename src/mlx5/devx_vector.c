/* SPDX-License-Identifier: BSD-2-Clause */
#include "mlx5/devx_vector.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "mlx5/dv.h"
#include "util/explain.h"

uint32_t devx_vector_count(const struct devx *devx)
{
	uint64_t n = devx->ctx->vb->adapter->limits.comp_vectors;

	return n < DEVX_USER_EQN - DEVX_OWN_EQN ? n : DEVX_USER_EQN - DEVX_OWN_EQN;
}

int mlx5dv_devx_query_eqn(struct ibv_context *context, uint32_t vector, uint32_t *eqn)
{
	struct mlx5_context *ctx = mlx5_dv_context(context, __func__);
	bool taken;

	if (!ctx)
		return errno;
	if (vector >= devx_vector_count(ctx->devx))
		return -explain(EINVAL, "mlx5dv_devx_query_eqn: vector %u; there are %u", vector,
				devx_vector_count(ctx->devx));
	pthread_mutex_lock(&ctx->devx->lock);
	taken = ctx->devx->vectors[vector];
	pthread_mutex_unlock(&ctx->devx->lock);
	if (taken)
		return -explain(EINVAL,
				"mlx5dv_devx_query_eqn: vector %u is that of event queues of the "
				"program's own",
				vector);
	*eqn = DEVX_OWN_EQN + vector;
	return 0;
}

struct mlx5dv_devx_msi_vector *mlx5dv_devx_alloc_msi_vector(struct ibv_context *context)
{
	struct mlx5_context *ctx = mlx5_dv_context(context, __func__);
	struct devx_vector *v;
	uint32_t number;

	if (!ctx)
		return NULL;
	v = calloc(1, sizeof(*v));
	if (!v) {
		errno = ENOMEM;
		return NULL;
	}
	v->devx = ctx->devx;
	v->pub.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (v->pub.fd < 0) {
		free(v);
		return NULL;
	}
	pthread_mutex_lock(&ctx->devx->lock);
	for (number = devx_vector_count(ctx->devx) - 1; number && ctx->devx->vectors[number];
	     number--)
		;
	if (number)
		ctx->devx->vectors[number] = v;
	pthread_mutex_unlock(&ctx->devx->lock);
	v->pub.vector = (int)number;
	if (number)
		return &v->pub;
	close(v->pub.fd);
	free(v);
	return explain_null(ENOSPC, "mlx5dv_devx_alloc_msi_vector: all %u vectors are taken",
			    devx_vector_count(ctx->devx) - 1);
}

int mlx5dv_devx_free_msi_vector(struct mlx5dv_devx_msi_vector *pub)
{
	struct devx_vector *v = container_of(pub, struct devx_vector, pub);
	struct devx *devx;
	unsigned int users;

	if (!pub)
		return -explain(EINVAL, "mlx5dv_devx_free_msi_vector: there is no vector");
	devx = v->devx;
	pthread_mutex_lock(&devx->lock);
	/* The program can write to vector and fd. */
	if ((unsigned int)pub->vector >= DEVX_VECTORS || devx->vectors[pub->vector] != v) {
		pthread_mutex_unlock(&devx->lock);
		return -explain(EINVAL, "mlx5dv_devx_free_msi_vector: %d is not its number",
				pub->vector);
	}
	users = v->users;
	if (!users)
		devx->vectors[pub->vector] = NULL;
	pthread_mutex_unlock(&devx->lock);
	if (users)
		return -explain(EBUSY, "mlx5dv_devx_free_msi_vector: %u event queues use vector %d",
				users, pub->vector);
	close(pub->fd);
	free(v);
	return 0;
}

void devx_vectors_fini(struct devx *devx)
{
	for (int i = 0; i < DEVX_VECTORS; i++)
		if (devx->vectors[i]) {
			close(devx->vectors[i]->pub.fd);
			free(devx->vectors[i]);
		}
}
