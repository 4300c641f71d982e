/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a driver library (libmlx5, libmlx4) gives to libibverbs: one constant struct under the name
 * verbena_driver in version node VERBENA_PRIVATE_0.
 */
#ifndef VERBS_DRIVER_H
#define VERBS_DRIVER_H

#include "verbs/context.h"

/* Both come from one build; the number catches a mixed installation. */
#define VB_DRIVER_ABI 1

struct vb_driver {
	int abi;
	const char *name;
	/* Puts the driver's operations into ctx->verbs. 0 or -errno. */
	int (*context_init)(struct vb_context *ctx);
	void (*context_fini)(struct vb_context *ctx);
	/* Adds what the model can do beyond the limits. attr is whole and zeroed. */
	void (*query_device)(struct vb_context *ctx, struct ibv_device_attr_ex *attr);
};

/* The driver for an adapter, loaded at need; NULL after a failure, which is explained. */
const struct vb_driver *vb_driver_get(const struct hca_adapter *adapter);

#endif
