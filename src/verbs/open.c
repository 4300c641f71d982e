/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opening and closing. What an open context costs: this struct, an eventfd, and what its driver
 * keeps; all of it goes with the last reference.
 */
#include <errno.h>
#include <stdlib.h>

#include "hca/port.h"
#include "util/explain.h"
#include "verbs/context.h"
#include "verbs/driver.h"

static void init_public(struct vb_context *ctx, struct ibv_device *device)
{
	struct ibv_context *public = &ctx->verbs.context;

	ctx->verbs.sz = sizeof(ctx->verbs);
	public->device = device;
	/* There is no command channel: what a real driver asks the kernel is a function call here. */
	public->cmd_fd = -1;
	public->async_fd = ctx->async.fd;
	public->num_comp_vectors = ctx->adapter->limits.comp_vectors;
	pthread_mutex_init(&public->mutex, NULL);
	public->abi_compat = __VERBS_ABI_IS_EXTENDED;
	vb_ops_init(&ctx->verbs);
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	const struct vb_driver *driver;
	struct vb_context *ctx;
	int err;

	if (!device)
		return explain_null(EINVAL, "ibv_open_device: the device is NULL; take one from "
					    "ibv_get_device_list");
	driver = vb_driver_get(to_device(device)->adapter);
	if (!driver)
		return NULL;
	ctx = calloc(1, sizeof(*ctx));
	if (!ctx) {
		errno = ENOMEM;
		return NULL;
	}
	ctx->driver = driver;
	ctx->adapter = to_device(device)->adapter;
	atomic_init(&ctx->refs, 1);
	err = hca_async_init(&ctx->async, ctx->adapter);
	if (err)
		goto free_ctx;
	init_public(ctx, device);
	err = driver->context_init(ctx);
	if (err)
		goto fini_async;
	hca_port_watch();
	return &ctx->verbs.context;

fini_async:
	pthread_mutex_destroy(&ctx->verbs.context.mutex);
	hca_async_fini(&ctx->async);
free_ctx:
	free(ctx);
	errno = -err;
	return NULL;
}

void vb_context_get(struct vb_context *ctx)
{
	atomic_fetch_add_explicit(&ctx->refs, 1, memory_order_relaxed);
}

void vb_context_put(struct vb_context *ctx)
{
	if (atomic_fetch_sub_explicit(&ctx->refs, 1, memory_order_acq_rel) != 1)
		return;
	ctx->driver->context_fini(ctx);
	pthread_mutex_destroy(&ctx->verbs.context.mutex);
	hca_async_fini(&ctx->async);
	free(ctx);
}

int ibv_close_device(struct ibv_context *context)
{
	if (!context) {
		errno = -explain(EINVAL, "ibv_close_device: the context is NULL");
		return -1;
	}
	vb_context_put(to_context(context));
	return 0;
}
