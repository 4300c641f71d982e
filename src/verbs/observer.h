/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The observer of the program's calls: the checker (src/check), a library of its own, which is loaded with
 * the first context when VERBENA_CHECK is set. Without it the pointer is NULL. Posting, polling and arming
 * call nothing here: the observer replaces these operations in the tables of a context and of its queues, so
 * that they have no extra branch in a program that is not observed.
 *
 * Calls come from the program's threads, with no lock of libibverbs held unless the comment says so.
 */
#ifndef VERBS_OBSERVER_H
#define VERBS_OBSERVER_H

#include <stdlib.h>

#include "util/api.h"
#include "verbs/public.h"
#include "verbs/state.h"

struct vb_ah;
struct vb_channel;
struct vb_context;
struct vb_cq;
struct vb_handle;
struct vb_mr;
struct vb_qp;
struct vb_srq;

#define VB_OBSERVER_ABI 1

struct vb_observer {
	int abi;
	/* The tables of the context are complete. */
	void (*context_opened)(struct vb_context *ctx);
	/* Objects of every kind, by the address of their handle (or of a channel, or a context). */
	void (*object_added)(const void *object, int kind); /* enum vb_kind */
	void (*object_removed)(const void *object);
	/* Its destruction was refused with this error. */
	void (*object_busy)(const void *object, int err);
	/* A call named an object that is not there. */
	void (*object_stale)(const struct vb_handle *own, const char *call);
	/* Takes the memory of a destroyed object, whose public struct begins with `context`. */
	void (*memory_retired)(void *memory, const struct vb_handle *own,
			       struct ibv_context **context);
	void (*mr_created)(struct vb_mr *mr);
	void (*mr_changed)(struct vb_mr *mr);
	void (*mr_destroying)(struct vb_mr *mr);
	void (*mr_destroyed)(struct vb_mr *mr);
	void (*ah_created)(struct vb_ah *ah, const struct ibv_ah_attr *attr);
	void (*cq_created)(struct vb_cq *cq, uint32_t flags);
	void (*cq_destroying)(struct vb_cq *cq);
	void (*cq_destroyed)(struct vb_cq *cq);
	void (*srq_created)(struct vb_srq *srq);
	void (*srq_destroyed)(struct vb_srq *srq);
	/* driver_attr: the QP was made by a call of the driver's, such as mlx5dv_create_qp(). */
	void (*qp_created)(struct vb_qp *qp, const void *driver_attr);
	void (*qp_modified)(struct vb_qp *qp, const struct ibv_qp_attr *attr, int mask, int err);
	void (*qp_destroyed)(struct vb_qp *qp);
	/* The program is about to fetch an event, and has fetched one. */
	void (*event_wanted)(struct vb_channel *channel);
	void (*event_fetched)(struct vb_cq *cq);
	void (*device_queried)(struct vb_context *ctx);
	/* The process ends by exit(). */
	void (*exiting)(void);
};

#define vb_observe(call, ...)                                                                      \
	do {                                                                                       \
		if (unlikely(verbs_state.observer))                                                \
			verbs_state.observer->call(__VA_ARGS__);                                   \
	} while (0)

/* free() of a destroyed object. */
static inline void vb_object_free(void *memory, const struct vb_handle *own,
				  struct ibv_context **context)
{
	if (unlikely(verbs_state.observer))
		verbs_state.observer->memory_retired(memory, own, context);
	else
		free(memory);
}

#endif
