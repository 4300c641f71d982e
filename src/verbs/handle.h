/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Handles. The kernel knows an object by context, kind and number, and a call on a number that names
 * nothing fails. The public structs are the program's memory, so an object keeps its own copy of its
 * context and number here, in a table that every call looks in which would be a call of the kernel;
 * posting, polling and arming are none.
 */
#ifndef VERBS_HANDLE_H
#define VERBS_HANDLE_H

#include "util/hash.h"
#include "verbs/context.h"

enum vb_kind {
	VB_KIND_PD,
	VB_KIND_MR,
	VB_KIND_MW,
	VB_KIND_DM,
	VB_KIND_AH,
	VB_KIND_XRCD,
	VB_KIND_CQ,
	VB_KIND_SRQ,
	VB_KIND_QP,
	VB_KIND_WQ,
	VB_KIND_IND_TABLE,
	VB_KIND_FLOW,
	VB_KIND_FLOW_ACTION,
	VB_KIND_COUNTERS,
	VB_KIND_COMP_CNTR,
	VB_KIND_DMAH,
	/* These have no number, and are not in the table. */
	VB_KIND_CHANNEL,
	VB_KIND_CONTEXT,
	VB_KINDS,
};

struct vb_handle {
	struct vb_context *ctx;
	struct hash_link link; /* in verbs_state.handles; its key has kind and number */
};

/* Several objects may have one number: those that were imported, or opened again. */
VB_API void verbena_handle_add(struct vb_handle *own, struct vb_context *ctx, enum vb_kind kind,
			       uint32_t number);
void vb_handle_remove(struct vb_handle *own);
/* "queue pair". */
VB_API const char *verbena_kind_name(enum vb_kind kind);
/* A number for a kind that the adapter has none for. */
VB_API uint32_t verbena_handle_number(void);
/* The number that the object was added with. */
static inline uint32_t vb_handle_number(const struct vb_handle *own)
{
	return (uint32_t)own->link.key;
}

/*
 * 0 when context and number, as the program's struct has them, name the object; else -code, explained.
 * `own` is compared only, never read, unless it is in the table.
 *
 * The kernel answers ENOENT where an object is destroyed, and to commands that are ioctls; to older
 * commands, which are writes, EINVAL (up to Linux 6.14; ENOENT since).
 */
VB_API int verbena_handle_check(struct ibv_context *context, enum vb_kind kind, uint32_t number,
				const struct vb_handle *own, int code, const char *call);

#endif
