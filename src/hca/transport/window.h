/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The window: requests of a send queue that were sent and not answered yet, in order. The requester puts
 * them in at the tail, the completer takes them out at the head, so completions come in the order of
 * the send queue (IBTA volume 1, 9.9.2). Lock held.
 */
#ifndef HCA_WINDOW_H
#define HCA_WINDOW_H

#include "hca/transport/qp_types.h"

static inline struct req_slot *window_at(const struct window *w, uint32_t i)
{
	return &w->slots[i & (QP_WINDOW - 1)];
}

static inline bool window_is_empty(const struct window *w)
{
	return w->head == w->tail;
}

static inline uint32_t window_count(const struct window *w)
{
	return w->tail - w->head;
}

/* The oldest request, or NULL. */
static inline struct req_slot *window_head(const struct window *w)
{
	return window_is_empty(w) ? NULL : window_at(w, w->head);
}

/* The request that entered last. */
static inline struct req_slot *window_last(const struct window *w)
{
	return window_at(w, w->tail - 1);
}

/* Memory for the slots; 0 or -ENOMEM. Before the first window_push(). */
int window_reserve(struct window *w) __attribute__((cold));
void window_fini(struct window *w);
/* Empties the window, and starts it anew. */
void window_reset(struct window *w);

/* The slot at the tail, which the caller has filled, enters. */
static inline void window_push(struct window *w, bool read)
{
	w->tail++;
	if (unlikely(read))
		w->reads++;
}

/* The request that entered last leaves, as if it had not entered. */
static inline void window_unpush(struct window *w)
{
	w->tail--;
	w->reads -= op_is_read(window_at(w, w->tail)->op);
}

/* The oldest request leaves. Its slot is valid until the next push. */
static inline struct req_slot *window_pop(struct window *w)
{
	struct req_slot *slot = window_at(w, w->head++);

	w->reads -= op_is_read(slot->op);
	/* A read of nothing was answered, itself or by the acknowledgement of a later one. */
	if (unlikely(slot->op == HCA_OP_READ && !slot->length && w->reads_out))
		w->reads_out--;
	return slot;
}

/* All requests leave, to enter again when they are sent again; slots keep the data that has come. */
static inline void window_rewind(struct window *w)
{
	w->tail = w->head;
	w->reads = w->reads_out = 0;
}

/* `count` read requests or atomics were sent. */
static inline void window_read_sent(struct window *w, uint32_t count)
{
	w->reads_out += count;
}

/* One of them was answered. */
static inline void window_read_answered(struct window *w)
{
	if (w->reads_out)
		w->reads_out--;
}

#endif
