/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/device/table.h"

#include <errno.h>
#include <stdlib.h>

/* Fresh numbers are preferred until this many wait: enough to keep stale ones from coming back. */
#define QUEUE_LEAST 64

bool hca_numbers_low(const struct hca_numbers *n)
{
	return n->count <= QUEUE_LEAST && n->first + n->fresh >= n->limit;
}

int hca_number_get(struct hca_numbers *n, uint32_t *out)
{
	bool fresh_left = n->first + n->fresh < n->limit;

	if (n->count > QUEUE_LEAST || (n->count && !fresh_left)) {
		*out = n->queue[n->head];
		n->head = (n->head + 1) % n->size;
		n->count--;
		return 0;
	}
	if (!fresh_left)
		return -ENOSPC;
	*out = n->first + (n->start + n->fresh++) % (n->limit - n->first);
	return 0;
}

void hca_number_put(struct hca_numbers *n, uint32_t number)
{
	if (n->count == n->size) {
		uint32_t size = n->size ? 2 * n->size : 128;
		uint32_t *queue = malloc(size * sizeof(*queue));

		if (!queue)
			return; /* the number is lost, with no other effect */
		for (uint32_t i = 0; i < n->count; i++)
			queue[i] = n->queue[(n->head + i) % n->size];
		free(n->queue);
		n->queue = queue;
		n->size = size;
		n->head = 0;
	}
	n->queue[(n->head + n->count++) % n->size] = number;
}

void hca_numbers_fini(struct hca_numbers *n)
{
	free(n->queue);
	*n = (struct hca_numbers){ 0 };
}

int hca_table_set(struct hca_table *t, uint32_t number, void *object)
{
	_Atomic(_Atomic(void *) *) *slot = &t->top[number >> HCA_TABLE_BITS];
	_Atomic(void *) *leaf = atomic_load(slot), *fresh;

	if (!leaf) {
		if (!object)
			return 0;
		fresh = calloc(HCA_TABLE_HALF, sizeof(*fresh));
		if (!fresh)
			return -ENOMEM;
		/* [TB1] Of two threads that set a leaf here, the first one's stays. */
		if (atomic_compare_exchange_strong(slot, &leaf, fresh))
			leaf = fresh;
		else
			free((void *)fresh);
	}
	/* [TB2] */
	atomic_store_explicit(&leaf[number & (HCA_TABLE_HALF - 1)], object, memory_order_seq_cst);
	return 0;
}

void hca_table_fini(struct hca_table *t)
{
	for (uint32_t i = 0; i < HCA_TABLE_HALF; i++)
		free((void *)atomic_exchange(&t->top[i], NULL));
}
