/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Devices and open contexts as libibverbs and the drivers know them. The public structs are
 * embedded; to_device() and to_context() lead from them to ours.
 *
 * A context lives until it is closed and its last object is destroyed: every object holds a
 * reference, so a program may close the device before it destroys the objects.
 */
#ifndef VERBS_CONTEXT_H
#define VERBS_CONTEXT_H

#include "verbs/public.h"
#include <stdatomic.h>

#include "hca/device/adapter.h"
#include "hca/device/async.h"
#include "hca/memory/pd.h"
#include "util/api.h"
#include "util/hash.h"

struct vb_driver;

struct vb_device {
	struct ibv_device dev;
	const struct hca_adapter *adapter;
};

struct vb_context {
	const struct vb_driver *driver;
	const struct hca_adapter *adapter;
	atomic_uint refs; /* one of the program, and one per object */
	struct hca_async async;
	struct hca_ctx hca;
	struct vb_context *root; /* itself when it was opened; else the one it was imported from */
	struct hash_link root_link;              /* of a root: in verbs_state.roots */
	void (*destroy)(struct vb_context *ctx); /* called with the last reference gone */
	void *watch;                             /* the observer's */
	void *driver_data; /* owned by the driver, freed by its context_fini */
	struct verbs_context verbs;
};

static inline struct vb_device *to_device(struct ibv_device *device)
{
	return container_of(device, struct vb_device, dev);
}

static inline struct vb_context *to_context(struct ibv_context *context)
{
	return container_of(context, struct vb_context, verbs.context);
}

static inline void vb_context_get(struct vb_context *ctx)
{
	atomic_fetch_add_explicit(&ctx->refs, 1, memory_order_relaxed);
}

static inline void vb_context_put(struct vb_context *ctx)
{
	if (atomic_fetch_sub_explicit(&ctx->refs, 1, memory_order_acq_rel) == 1)
		ctx->destroy(ctx);
}

#endif
