/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opening and closing. A context has this struct, an eventfd, a memfd of one line (root.c) and the
 * state of its driver; all of it is freed with the last reference.
 */
#include "verbs/open.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "hca/device/port.h"
#include "hca/inspect/unplug.h"
#include "hca/peers/ctx_share.h"
#include "util/explain.h"
#include "verbs/driver.h"
#include "verbs/event.h"
#include "verbs/observer.h"
#include "verbs/observer_load.h"
#include "verbs/ops.h"
#include "verbs/result.h"
#include "verbs/root.h"

static void init_public(struct vb_context *ctx, struct ibv_device *device, int cmd_fd)
{
	struct ibv_context *public = &ctx->verbs.context;

	ctx->verbs.sz = sizeof(ctx->verbs);
	public->device = device;
	public->cmd_fd = cmd_fd;
	public->async_fd = ctx->async.fd;
	public->num_comp_vectors = ctx->adapter->limits.comp_vectors;
	pthread_mutex_init(&public->mutex, NULL);
	public->abi_compat = __VERBS_ABI_IS_EXTENDED;
	vb_ops_init(&ctx->verbs);
}

static void get_of_hca(struct hca_ctx *hca)
{
	vb_context_get(container_of(hca, struct vb_context, hca));
}

static void put_of_hca(struct hca_ctx *hca)
{
	vb_context_put(container_of(hca, struct vb_context, hca));
}

/* A context of this process is shared through its root; one of another process becomes a root. */
static int init_origin(struct vb_context *ctx, const struct vb_origin *origin)
{
	if (!origin)
		return 0;
	if (!origin->root)
		return hca_ctx_share(&ctx->hca, origin->uid, origin->creator);
	ctx->hca.uid = origin->uid;
	ctx->hca.creator = origin->root->hca.creator;
	return 0;
}

static int init(struct vb_context *ctx, struct ibv_device *device, const struct vb_origin *origin)
{
	struct vb_context *root = origin ? origin->root : NULL;
	int cmd_fd = origin ? origin->cmd_fd : -1;
	int err = hca_ctx_init(&ctx->hca, ctx->adapter, &ctx->async);

	if (!err)
		err = hca_unplug_listen(ctx->adapter, &ctx->async);
	if (err)
		return err;
	ctx->async.taken = vb_event_taken;
	err = init_origin(ctx, origin);
	if (err)
		goto fini_async;
	ctx->hca.get = get_of_hca;
	ctx->hca.put = put_of_hca;
	init_public(ctx, device, cmd_fd);
	ctx->root = root ? root : ctx;
	if (!root) {
		err = vb_root_init(ctx);
		if (err)
			goto fini_public;
	}
	err = ctx->driver->context_init(ctx);
	if (err)
		goto fini_root;
	if (root)
		vb_context_get(root);
	return 0;
fini_root:
	if (!root)
		vb_root_fini(ctx);
	if (cmd_fd < 0)
		close(ctx->verbs.context.cmd_fd);
fini_public:
	pthread_mutex_destroy(&ctx->verbs.context.mutex);
fini_async:
	hca_async_fini(&ctx->async);
	return err;
}

static void destroy(struct vb_context *ctx)
{
	struct vb_context *root = ctx->root;

	ctx->driver->context_fini(ctx);
	if (root == ctx)
		vb_root_fini(ctx);
	close(ctx->verbs.context.cmd_fd);
	pthread_mutex_destroy(&ctx->verbs.context.mutex);
	hca_async_fini(&ctx->async);
	free(ctx);
	if (root != ctx)
		vb_context_put(root);
}

int vb_context_open(struct ibv_device *device, const struct vb_origin *origin,
		    struct vb_context **out)
{
	const struct vb_driver *driver = vb_driver_get(to_device(device)->adapter);
	struct vb_context *ctx;
	int err;

	vb_observer_load();
	if (!driver)
		return -errno;
	ctx = calloc(1, sizeof(*ctx));
	if (!ctx)
		return -ENOMEM;
	ctx->driver = driver;
	ctx->adapter = to_device(device)->adapter;
	atomic_init(&ctx->refs, 1);
	ctx->destroy = destroy;
	err = init(ctx, device, origin);
	if (err) {
		free(ctx);
		return err;
	}
	hca_port_watch();
	vb_observe(context_opened, ctx);
	vb_observe(object_added, ctx, VB_KIND_CONTEXT);
	*out = ctx;
	return 0;
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct vb_context *ctx = NULL;
	int err;

	if (!device)
		return explain_null(EINVAL, "ibv_open_device: the device is NULL; take one from "
					    "ibv_get_device_list");
	err = vb_context_open(device, NULL, &ctx);
	return err ? vb_null(err) : &ctx->verbs.context;
}

int ibv_close_device(struct ibv_context *context)
{
	if (!context) {
		errno = -explain(EINVAL, "ibv_close_device: the context is NULL");
		return -1;
	}
	vb_observe(object_removed, to_context(context));
	vb_context_put(to_context(context));
	return 0;
}
