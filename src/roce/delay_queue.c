/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/delay_queue.h"

#include <stdlib.h>
#include <string.h>

static void insert(struct roce_delay_queue *q, struct roce_delayed *new)
{
	struct roce_delayed *d, *before = NULL;

	LIST_FOREACH(d, q, link) {
		if (d->due_ns > new->due_ns)
			break;
		before = d;
	}
	if (before)
		LIST_INSERT_AFTER(before, new, link);
	else
		LIST_INSERT_HEAD(q, new, link);
}

bool roce_delay_queue_add(struct roce_delay_queue *q, uint64_t due_ns, bool swap, const void *owner,
			  const void *head, size_t head_len, const void *data, size_t len)
{
	struct roce_delayed *d = malloc(sizeof(*d) + head_len + len);

	if (!d)
		return false;
	d->due_ns = due_ns;
	d->swap = swap;
	d->owner = owner;
	d->len = head_len + len;
	memcpy(d->data, head, head_len);
	memcpy(d->data + head_len, data, len);
	insert(q, d);
	return true;
}

struct roce_delayed *roce_delay_queue_take(struct roce_delay_queue *q, uint64_t now_ns,
					   const void *owner)
{
	struct roce_delayed *d;

	LIST_FOREACH(d, q, link) {
		if (d->due_ns > now_ns)
			return NULL;
		if (!owner || d->owner == owner) {
			LIST_REMOVE(d, link);
			return d;
		}
	}
	return NULL;
}

struct roce_delayed *roce_delay_queue_take_swap(struct roce_delay_queue *q, const void *owner)
{
	struct roce_delayed *d;

	LIST_FOREACH(d, q, link)
		if (d->swap && d->owner == owner) {
			LIST_REMOVE(d, link);
			return d;
		}
	return NULL;
}

uint64_t roce_delay_queue_due(const struct roce_delay_queue *q)
{
	return LIST_EMPTY(q) ? UINT64_MAX : LIST_FIRST(q)->due_ns;
}

void roce_delay_queue_clear(struct roce_delay_queue *q)
{
	struct roce_delayed *d;

	while ((d = LIST_FIRST(q))) {
		LIST_REMOVE(d, link);
		free(d);
	}
}
