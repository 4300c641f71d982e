/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The set of public pointers.
 */
#include "cm/handle.h"

#include "cm/state.h"

void cm_handle_add(struct cm_handle *handle, enum cm_kind kind, const void *public)
{
	handle->kind = kind;
	hash_add(&cm.handles, &handle->link, (uintptr_t) public);
}

void cm_handle_remove(struct cm_handle *handle)
{
	hash_remove(&cm.handles, &handle->link);
}

struct cm_handle *cm_handle_find(enum cm_kind kind, const void *public)
{
	struct hash_link *link = hash_find(&cm.handles, (uintptr_t) public);

	for (; link; link = hash_next(link)) {
		struct cm_handle *handle = container_of(link, struct cm_handle, link);

		if (handle->kind == kind)
			return handle;
	}
	return NULL;
}
