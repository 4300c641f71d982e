/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/alloc.h"

#include <stddef.h>

#include "sim/rng.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

/* The service thread has its own, in which nothing fails. */
static __thread int depth;

static struct {
	struct rng rng;
	uint32_t every;
	uint64_t failed;
} state;

void alloc_begin(uint64_t seed, uint32_t every)
{
	state.rng = rng_fork(seed, 4);
	state.every = every;
}

void alloc_enter(void)
{
	depth++;
}

void alloc_leave(void)
{
	depth--;
}

int alloc_pause(void)
{
	int paused = depth;

	depth = 0;
	return paused;
}

void alloc_resume(int paused)
{
	depth = paused;
}

uint64_t alloc_failed(void)
{
	return state.failed;
}

static bool fails(void)
{
	if (!depth || !state.every || rng_below(&state.rng, state.every))
		return false;
	state.failed++;
	return true;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	return fails() ? NULL : __real_realloc(old, size);
}
