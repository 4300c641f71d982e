/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads other than the first have arenas of their own in glibc: mappings that begin with a struct
 * heap_info and, in the first heap of an arena, its control block (locks, lists of free chunks). fork()
 * resets the locks and the counts of threads in the child, before handlers of pthread_atfork() run. On a
 * page that the child still shares with its parent, that unlocks arenas that threads of the parent use,
 * and loses the wake-up of threads that wait for them. The lists would also be of another time than the
 * chunks on pages that are not shared.
 *
 * The control block of the main arena lies in libc's own data.
 */
#include "fabric/share_arena.h"

#include <stddef.h>

#include "fabric/share_sys.h"

/* Where heaps begin. (Those of huge pages do elsewhere, but such memory is not shared.) */
#define ALIGNMENT ((uintptr_t)64 << 20)
/* The control block follows struct heap_info, whose length depends on the release of glibc. */
#define INFO_MOST 256u

/* The words of struct heap_info that all releases have. */
struct heap_info {
	uintptr_t arena, previous;
	size_t size, size_accessible;
};

/* Threads may write there at the same time. */
__attribute__((no_sanitize("thread", "address"))) static uintptr_t load(const uintptr_t *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static bool is_first_heap(uintptr_t at)
{
	const struct heap_info *info = (const struct heap_info *)at;
	uintptr_t arena = load(&info->arena);
	size_t size = load(&info->size);

	return arena > at && arena - at <= INFO_MOST && !load(&info->previous) && size &&
	       load(&info->size_accessible) >= size;
}

bool share_arena_begins_in(const struct share_state *state, struct share_range r)
{
	for (uintptr_t at = (r.start + ALIGNMENT - 1) & -ALIGNMENT; at < r.end; at += ALIGNMENT) {
		uint8_t there;

		/* An arena was used a moment ago; pages that were never used stay so. */
		if (!share_sys_mincore(at, state->page, &there) && there & 1 && is_first_heap(at))
			return true;
	}
	return false;
}
