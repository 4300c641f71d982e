/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/queue/tag_list.h"

#include <stdlib.h>

struct tag_list *tag_list_create(uint32_t size)
{
	struct tag_list *list = calloc(1, sizeof(*list) + size * sizeof(list->entry[0]));

	if (!list)
		return NULL;
	list->size = size;
	TAILQ_INIT(&list->list);
	return list;
}

void tag_list_sync(struct tag_list *list, uint16_t handled)
{
	struct tag_entry *e;

	list->handled = handled;
	if (handled != list->unexpected)
		return;
	/* Inactive entries are the last ones. */
	TAILQ_FOREACH_REVERSE(e, &list->list, tag_queue, link)
	{
		if (e->active)
			break;
		e->active = true;
	}
}

void tag_list_uncount(struct tag_list *list)
{
	list->unexpected--;
	tag_list_sync(list, list->handled);
}

bool tag_list_append(struct tag_list *list, const struct hca_tag_op *op, const struct hca_sge *sge)
{
	struct tag_entry *e = &list->entry[list->next];

	if (e->listed || op->index >= list->size)
		return false;
	e->tag = op->tag;
	e->mask = op->mask;
	e->sge = *sge;
	e->listed = true;
	e->active = list->handled == list->unexpected;
	TAILQ_INSERT_TAIL(&list->list, e, link);
	list->next = op->index;
	return true;
}

bool tag_list_remove(struct tag_list *list, uint16_t index)
{
	struct tag_entry *e = index < list->size ? &list->entry[index] : NULL;

	if (!e || !e->listed)
		return false;
	e->listed = false;
	TAILQ_REMOVE(&list->list, e, link);
	return true;
}

const struct tag_entry *tag_list_match(struct tag_list *list, uint64_t tag)
{
	struct tag_entry *e;

	TAILQ_FOREACH(e, &list->list, link) {
		if (!e->active)
			return NULL;
		if ((tag & e->mask) == e->tag) {
			e->listed = false;
			TAILQ_REMOVE(&list->list, e, link);
			return e;
		}
	}
	return NULL;
}
