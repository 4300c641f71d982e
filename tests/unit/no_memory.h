/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Allocations that fail, for tests of one thread: the linker puts these functions before those of libc
 * (tests/unit/CMakeLists.txt).
 */
#ifndef TESTS_UNIT_NO_MEMORY_H
#define TESTS_UNIT_NO_MEMORY_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

/* In this thread, from now on. */
static __thread bool no_memory;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_reallocarray(void *old, size_t count, size_t size);
void *__real_aligned_alloc(size_t align, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_reallocarray(void *old, size_t count, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t size);

static inline bool fails(void)
{
	if (no_memory)
		errno = ENOMEM;
	return no_memory;
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

void *__wrap_reallocarray(void *old, size_t count, size_t size)
{
	return fails() ? NULL : __real_reallocarray(old, count, size);
}

void *__wrap_aligned_alloc(size_t align, size_t size)
{
	return fails() ? NULL : __real_aligned_alloc(align, size);
}

#endif
