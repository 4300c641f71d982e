/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Contexts that were opened (roots), by their command descriptor, for ibv_import_device(). Objects
 * are found by their handle in the adapter (hca/peers/ctx_share.h).
 */
#ifndef VERBS_ROOT_H
#define VERBS_ROOT_H

#include "verbs/context.h"

/* The contents of a command descriptor. */
struct vb_root_info {
	char name[HCA_NAME_MAX];
	uint64_t uid;
	fabric_id_t creator;
};

/* -errno: no memory for the command descriptor. */
int vb_root_init(struct vb_context *ctx);
void vb_root_fini(struct vb_context *ctx);

/* -ENODEV or -EINVAL: the descriptor is not that of a context. */
int vb_root_read_info(int fd, struct vb_root_info *info);
/* A reference on the root in this process, or NULL. */
struct vb_context *vb_root_find(uint64_t uid);

#endif
