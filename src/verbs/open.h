/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opening a device.
 */
#ifndef VERBS_OPEN_H
#define VERBS_OPEN_H

#include "verbs/context.h"

/* Where an imported context comes from. */
struct vb_origin {
	struct vb_context *root; /* in this process, or NULL */
	int cmd_fd;              /* becomes the new one's */
	uint64_t uid;
	fabric_id_t creator;
};

/* `origin` is NULL, or the context to import. */
int vb_context_open(struct ibv_device *device, const struct vb_origin *origin,
		    struct vb_context **out);

#endif
