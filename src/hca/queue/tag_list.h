/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The matching list of a tag matching receive queue: tagged buffers in the order in which they were posted. A
 * message takes the first whose tag it has, under the mask.
 *
 * Messages that match nothing are left to the program. While it has not dealt with all of them, a buffer posted now
 * might be theirs, so new buffers take part in matching only when the program has said that it knows of as many
 * unexpected messages as there were. Under the lock of the shared receive queue.
 */
#ifndef HCA_TAG_LIST_H
#define HCA_TAG_LIST_H

#include <sys/queue.h>

#include "hca/device/work.h"

struct tag_entry {
	TAILQ_ENTRY(tag_entry) link;
	uint64_t tag, mask;
	struct hca_sge sge;
	bool listed;
	bool active; /* takes part in matching */
};

struct tag_list {
	uint32_t size; /* entries; a power of two */
	uint16_t next; /* index of the entry that the next append fills; the program chooses it */
	uint16_t unexpected; /* messages that matched nothing, modulo 2^16 */
	uint16_t handled;    /* of these, the number that the program says it knows of */
	TAILQ_HEAD(tag_queue, tag_entry) list;
	struct tag_entry entry[];
};

#define TAG_LIST_LOG_MOST 15u

/* NULL: no memory. */
struct tag_list *tag_list_create(uint32_t size);

/* The program knows of so many unexpected messages. */
void tag_list_sync(struct tag_list *list, uint16_t handled);
/* A message that was counted as unexpected failed: the program will never know of it. */
void tag_list_uncount(struct tag_list *list);
/* False: the entry in turn is in use, or there is no entry `next`. */
bool tag_list_append(struct tag_list *list, const struct hca_tag_op *op, const struct hca_sge *sge);
/* False: no such entry is in the list; a message may have taken it. */
bool tag_list_remove(struct tag_list *list, uint16_t index);
/* Takes the entry that matches out of the list; NULL: none does. */
const struct tag_entry *tag_list_match(struct tag_list *list, uint64_t tag);

static inline uint16_t tag_list_index(const struct tag_list *list, const struct tag_entry *e)
{
	return (uint16_t)(e - list->entry);
}

#endif
