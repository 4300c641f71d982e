/* SPDX-License-Identifier: BSD-2-Clause */
#include "check/place.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

#include "check/state.h"

#define PLACES_MOST (CHECK_PLACES / 2)
#define PROBES_MOST 64
#define SMALL_FRAME 256

static const struct check_place unknown;

static uint64_t mix(uint64_t x)
{
	x ^= x >> 31;
	x *= 0x9e3779b97f4a7c15ull;
	return x ^ x >> 29;
}

struct walk {
	void **frames;
	int count;
};

static _Unwind_Reason_Code visit(struct _Unwind_Context *context, void *arg)
{
	struct walk *walk = arg;
	void *pc = (void *)_Unwind_GetIP(context);

	if (!pc || walk->count == CHECK_DEPTH)
		return _URC_END_OF_STACK;
	walk->frames[walk->count++] = pc;
	return _URC_NO_REASON;
}

/* Not backtrace(): sanitizers put a function of their own before it. */
static int take(void *frames[CHECK_DEPTH])
{
	struct walk walk = { .frames = frames };

	_Unwind_Backtrace(visit, &walk);
	return walk.count;
}

/* The slot of the key, or an empty one; NULL: neither is near. */
static _Atomic(struct check_place *) *find(uint64_t key)
{
	for (unsigned int i = 0; i < PROBES_MOST; i++) {
		_Atomic(struct check_place *) *slot = &check.places[(mix(key) + i) % CHECK_PLACES];
		/* [CHK1] pairs with add(): the stack before the pointer to it */
		const struct check_place *place = atomic_load_explicit(slot, memory_order_acquire);

		if (!place || place->key == key)
			return slot;
	}
	return NULL;
}

static const struct check_place *add(_Atomic(struct check_place *) *slot, uint64_t key,
				     void *const frames[], int count)
{
	struct check_place *place, *expected = NULL;

	if (atomic_fetch_add_explicit(&check.place_count, 1, memory_order_relaxed) >= PLACES_MOST)
		return &unknown;
	place = calloc(1, sizeof(*place));
	if (!place)
		return &unknown;
	place->key = key;
	place->count = count;
	memcpy(place->frames, frames, (size_t)count * sizeof(frames[0]));
	/* [CHK1] */
	if (atomic_compare_exchange_strong_explicit(slot, &expected, place, memory_order_acq_rel,
						    memory_order_acquire))
		return place;
	free(place); /* another thread was faster */
	return expected->key == key ? expected : &unknown;
}

/*
 * The return address of the calling function if it is a small one with a frame pointer; else 0. Whatever the register
 * holds, the stack is readable there.
 */
static uintptr_t next_caller(const void *frame)
{
	uintptr_t here = (uintptr_t)frame, above = *(const uintptr_t *)frame;
	struct dl_find_object object;
	uintptr_t caller;

	if (above <= here || above - here > SMALL_FRAME || above % sizeof(void *))
		return 0;
	caller = ((const uintptr_t *)above)[1];
	return _dl_find_object((void *)caller, &object) ? 0 : caller;
}

const struct check_place *check_place_of(const void *caller, const void *frame)
{
	uint64_t key = (uintptr_t)caller ^ next_caller(frame) << 16;
	_Atomic(struct check_place *) *slot = find(key);
	const struct check_place *place;
	void *frames[CHECK_DEPTH];

	if (!slot)
		return &unknown;
	place = atomic_load_explicit(slot, memory_order_acquire); /* [CHK1] */
	return place ? place : add(slot, key, frames, take(frames));
}

const struct check_place *check_place_here(void)
{
	_Atomic(struct check_place *) *slot;
	const struct check_place *place;
	void *frames[CHECK_DEPTH];
	int count = take(frames);
	uint64_t key = 1; /* odd: never a caller's address times itself */

	for (int i = 0; i < count; i++)
		key = mix(key ^ (uintptr_t)frames[i]) | 1ull << 63;
	slot = find(key);
	if (!slot)
		return &unknown;
	place = atomic_load_explicit(slot, memory_order_acquire); /* [CHK1] */
	return place ? place : add(slot, key, frames, count);
}
