/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/hold.h"

#include <stdlib.h>
#include <string.h>

bool roce_hold_add(struct roce_hold *q, uint64_t due_ns, bool swap, const void *owner,
		   const void *head, size_t head_len, const void *data, size_t len)
{
	struct roce_held *h = malloc(sizeof(*h) + head_len + len), **p = &q->first;

	if (!h)
		return false;
	h->due_ns = due_ns;
	h->swap = swap;
	h->owner = owner;
	h->len = head_len + len;
	memcpy(h->data, head, head_len);
	memcpy(h->data + head_len, data, len);
	while (*p && (*p)->due_ns <= due_ns)
		p = &(*p)->next;
	h->next = *p;
	*p = h;
	return true;
}

static struct roce_held *unlink_at(struct roce_held **p)
{
	struct roce_held *h = *p;

	*p = h->next;
	return h;
}

struct roce_held *roce_hold_take(struct roce_hold *q, uint64_t now_ns, const void *owner)
{
	for (struct roce_held **p = &q->first; *p && (*p)->due_ns <= now_ns; p = &(*p)->next)
		if (!owner || (*p)->owner == owner)
			return unlink_at(p);
	return NULL;
}

struct roce_held *roce_hold_take_swap(struct roce_hold *q, const void *owner)
{
	for (struct roce_held **p = &q->first; *p; p = &(*p)->next)
		if ((*p)->swap && (*p)->owner == owner)
			return unlink_at(p);
	return NULL;
}

uint64_t roce_hold_due(const struct roce_hold *q)
{
	return q->first ? q->first->due_ns : UINT64_MAX;
}

void roce_hold_clear(struct roce_hold *q)
{
	while (q->first)
		free(unlink_at(&q->first));
}
