/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists by a part of the address. They only grow, at their heads; entries without a page are used again. */
#include "hca/queue/uar_place.h"

#include <errno.h>
#include <stdlib.h>

#include "hca/hca.h"

struct uar_place {
	_Atomic(struct hca_uar *) uar; /* NULL: none */
	_Atomic uintptr_t page;
	struct uar_place *next;
};

static _Atomic(struct uar_place *) *list_of(uintptr_t address)
{
	return &hca.queue.doorbell_trap.places[address / HCA_UAR_SIZE % UAR_PLACE_LISTS];
}

int uar_place_add(struct hca_uar *uar, uintptr_t page)
{
	_Atomic(struct uar_place *) *list = list_of(page);
	struct uar_place *place = atomic_load_explicit(list, memory_order_relaxed);

	while (place && atomic_load_explicit(&place->uar, memory_order_relaxed))
		place = place->next;
	if (!place) {
		place = calloc(1, sizeof(*place));
		if (!place)
			return -ENOMEM;
		place->next = atomic_load_explicit(list, memory_order_relaxed);
		/* [UP1] pairs with uar_place_find(): the entry before its pointer */
		atomic_store_explicit(list, place, memory_order_release);
	}
	atomic_store_explicit(&place->page, page, memory_order_relaxed);
	/* [UP2] pairs with uar_place_find(): the page before its pointer */
	atomic_store_explicit(&place->uar, uar, memory_order_release);
	return 0;
}

void uar_place_remove(const struct hca_uar *uar, uintptr_t page)
{
	_Atomic(struct uar_place *) *list = list_of(page);
	struct uar_place *place = atomic_load_explicit(list, memory_order_relaxed);

	for (; place; place = place->next)
		if (atomic_load_explicit(&place->uar, memory_order_relaxed) == uar)
			atomic_store_explicit(&place->uar, NULL, memory_order_relaxed);
}

struct hca_uar *uar_place_find(uintptr_t address)
{
	/* [UP1] */
	struct uar_place *place = atomic_load_explicit(list_of(address), memory_order_acquire);

	for (; place; place = place->next) {
		/* [UP2] */
		struct hca_uar *uar = atomic_load_explicit(&place->uar, memory_order_acquire);

		if (uar && address - atomic_load_explicit(&place->page, memory_order_relaxed) <
				   HCA_UAR_SIZE)
			return uar;
	}
	return NULL;
}
