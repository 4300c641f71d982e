/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Contexts by their command descriptor, for ibv_import_device(). Objects are found by their handle
 * in the adapter (hca/peers/ctx_share.h).
 */
#ifndef VERBS_IMPORT_H
#define VERBS_IMPORT_H

#include "verbs/objects.h"

/* The root's side of opening and closing. -errno: no descriptor for cmd_fd. */
int vb_root_init(struct vb_context *ctx);
void vb_root_fini(struct vb_context *ctx);

#endif
