/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Numbers for objects, in ascending order, but a number that was given back waits behind
 * all others that are free, so that a stale number does not soon name a new object. Callers lock.
 */
#ifndef HCA_TABLE_H
#define HCA_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/api.h"

struct hca_numbers {
	uint32_t first;  /* lowest number */
	uint32_t limit;  /* one past the highest */
	uint32_t fresh;  /* so many were used at least once */
	uint32_t start;  /* the first of these, less `first`: they count up from it, and around */
	uint32_t *queue; /* given back, oldest first */
	uint32_t size, head, count;
};

/*
 * Pointers by a 24-bit number, in two levels. Finding takes no lock: the object stays valid until
 * the end of the finder's epoch section (epoch.h), or by a lock of the table's user. Setting takes no
 * lock either; one number has one setter at a time.
 */
#define HCA_TABLE_BITS 12
#define HCA_TABLE_HALF (1u << HCA_TABLE_BITS)

struct hca_table {
	_Atomic(_Atomic(void *) *) top[HCA_TABLE_HALF];
};

static inline void *hca_table_find(struct hca_table *t, uint32_t number)
{
	_Atomic(void *) *leaf;

	if (number >> (2 * HCA_TABLE_BITS))
		return NULL;
	/* [TB1] pairs with hca_table_set(): the leaf's zeros before the leaf */
	leaf = atomic_load_explicit(&t->top[number >> HCA_TABLE_BITS], memory_order_acquire);
	if (!leaf)
		return NULL;
	/* [TB2] pairs with hca_table_set(): the object before its pointer */
	return atomic_load_explicit(&leaf[number & (HCA_TABLE_HALF - 1)], memory_order_acquire);
}

/* NULL takes the number out. -ENOMEM. */
VB_API int hca_table_set(struct hca_table *t, uint32_t number, void *object);
/* Frees the table's memory and leaves it empty; no other thread may be finding. */
VB_API void hca_table_fini(struct hca_table *t);

/* All fresh numbers are used up, and few were given back: time to set another range. */
bool hca_numbers_low(const struct hca_numbers *n);
/* -ENOSPC when all are taken. */
int hca_number_get(struct hca_numbers *n, uint32_t *out);
void hca_number_put(struct hca_numbers *n, uint32_t number);
/* No numbers at all, until another range is set. */
void hca_numbers_fini(struct hca_numbers *n);

#endif
