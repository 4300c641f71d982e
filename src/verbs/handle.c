/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of handles of the process, under verbs_state.handle_lock, which is innermost.
 */
#include "verbs/handle.h"

#include <errno.h>
#include <pthread.h>

#include "util/api.h"
#include "util/explain.h"
#include "verbs/observer.h"
#include "verbs/state.h"

static const char *const names[] = {
	[VB_KIND_PD] = "protection domain",
	[VB_KIND_MR] = "memory region",
	[VB_KIND_MW] = "memory window",
	[VB_KIND_DM] = "device memory",
	[VB_KIND_AH] = "address handle",
	[VB_KIND_XRCD] = "XRC domain",
	[VB_KIND_CQ] = "completion queue",
	[VB_KIND_SRQ] = "shared receive queue",
	[VB_KIND_QP] = "queue pair",
	[VB_KIND_WQ] = "work queue",
	[VB_KIND_IND_TABLE] = "indirection table",
	[VB_KIND_FLOW] = "flow",
	[VB_KIND_FLOW_ACTION] = "flow action",
	[VB_KIND_COUNTERS] = "counters object",
	[VB_KIND_COMP_CNTR] = "completion counter",
	[VB_KIND_DMAH] = "DMA handle",
	[VB_KIND_CHANNEL] = "completion channel",
	[VB_KIND_CONTEXT] = "device context",
};

_Static_assert(array_size(names) == VB_KINDS, "every kind has a name");

const char *verbena_kind_name(enum vb_kind kind)
{
	return names[kind];
}

static uint64_t key_of(enum vb_kind kind, uint32_t number)
{
	return (uint64_t)kind << 32 | number;
}

void verbena_handle_add(struct vb_handle *own, struct vb_context *ctx, enum vb_kind kind,
			uint32_t number)
{
	own->ctx = ctx;
	pthread_mutex_lock(&verbs_state.handle_lock);
	hash_add(&verbs_state.handles, &own->link, key_of(kind, number));
	pthread_mutex_unlock(&verbs_state.handle_lock);
	vb_observe(object_added, own, kind);
}

void vb_handle_remove(struct vb_handle *own)
{
	vb_observe(object_removed, own);
	pthread_mutex_lock(&verbs_state.handle_lock);
	hash_remove(&verbs_state.handles, &own->link);
	pthread_mutex_unlock(&verbs_state.handle_lock);
}

uint32_t verbena_handle_number(void)
{
	return atomic_fetch_add_explicit(&verbs_state.last_handle, 1, memory_order_relaxed) + 1;
}

/* Contexts that were imported from one another have one set of handles. */
static bool is_of(const struct vb_handle *own, struct ibv_context *context)
{
	return &own->ctx->verbs.context == context || own->ctx->root == to_context(context)->root;
}

int verbena_handle_check(struct ibv_context *context, enum vb_kind kind, uint32_t number,
			 const struct vb_handle *own, int code, const char *call)
{
	const struct hash_link *link;
	bool found;

	pthread_mutex_lock(&verbs_state.handle_lock);
	link = hash_find(&verbs_state.handles, key_of(kind, number));
	while (link && link != &own->link)
		link = hash_next(link);
	found = link && is_of(own, context);
	pthread_mutex_unlock(&verbs_state.handle_lock);
	if (found)
		return 0;
	vb_observe(object_stale, own, call);
	return explain(code,
		       "%s: no %s of this context has handle 0x%x; handle or context of the struct "
		       "was changed, or the object is gone",
		       call, names[kind], number);
}
