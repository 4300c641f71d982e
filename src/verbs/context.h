/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Devices and open contexts as libibverbs and the drivers know them. The public structs are
 * embedded; to_device() and to_context() lead from them to ours.
 *
 * A context lives until it is closed and its last object is gone: every object holds a reference,
 * so a program that closes first and destroys later hurts nobody.
 */
#ifndef VERBS_CONTEXT_H
#define VERBS_CONTEXT_H

#include "verbs/public.h"
#include <stdatomic.h>

#include "hca/device/adapter.h"
#include "hca/device/async.h"
#include "hca/memory/pd.h"
#include "util/api.h"

struct vb_driver;

struct vb_device {
	struct ibv_device dev;
	const struct hca_adapter *adapter;
};

struct vb_context {
	const struct vb_driver *driver;
	const struct hca_adapter *adapter;
	atomic_uint refs; /* the program's one, and one per object */
	struct hca_async async;
	struct hca_ctx hca;
	struct vb_context *root; /* who was opened: itself, or whom it was imported from */
	struct vb_context *next; /* list of all roots (import.c) */
	void *driver_data;       /* the driver's; freed by its context_fini */
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

/* Where an imported context comes from. */
struct vb_origin {
	struct vb_context *root; /* in this process, or NULL */
	int cmd_fd;              /* becomes the new one's */
	uint64_t uid;
	fabric_id_t creator;
};

/* Opens a device; `origin` is NULL, or what to import. */
int vb_context_open(struct ibv_device *device, const struct vb_origin *origin,
		    struct vb_context **out);
void vb_context_get(struct vb_context *ctx);
void vb_context_put(struct vb_context *ctx);

/* The size as the inline wrappers pass it: longer structs come from newer programs. */
int vb_query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr,
		  size_t len);
int vb_query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
		       struct ibv_device_attr_ex *attr, size_t size);
int vb_query_rt_values(struct ibv_context *context, struct ibv_values_ex *values);

/* Fills every entry of the dispatch tables with an answer; drivers then put in what they have. */
void vb_ops_init(struct verbs_context *verbs);

#endif
