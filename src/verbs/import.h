/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Objects by handle, for the import calls. A context and those imported from it share the lists of
 * their root.
 */
#ifndef VERBS_IMPORT_H
#define VERBS_IMPORT_H

#include "verbs/objects.h"

/* The root's side of opening and closing. -errno: no descriptor for cmd_fd. */
int vb_root_init(struct vb_context *ctx);
void vb_root_fini(struct vb_context *ctx);

/* head: of ctx->root->lists */
void vb_list_add(struct vb_context *ctx, struct vb_link **head, struct vb_link *link,
		 uint32_t handle);
/* Nothing happens to a link that is in no list. */
/* False when it was in no list: another handle of an object that was imported. */
bool vb_list_del(struct vb_context *ctx, struct vb_link *link);
/* NULL when there is none. */
struct vb_link *vb_list_find(struct vb_context *ctx, struct vb_link **head, uint32_t handle);
/*
 * After an object is gone: takes it out of the list, or, when it was an imported one, the original,
 * which is now a shell around nothing.
 */
void vb_list_forget(struct vb_context *ctx, struct vb_link **head, uint32_t handle);

#endif
