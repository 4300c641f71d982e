/* SPDX-License-Identifier: BSD-2-Clause */
#include "alloc_hook.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEPTH 32

static struct {
	void *(*malloc)(size_t size);
	void *(*calloc)(size_t count, size_t size);
	void *(*realloc)(void *ptr, size_t size);
	void *(*aligned_alloc)(size_t align, size_t size);
	void (*free)(void *ptr);
} libc;

static _Atomic bool armed;
static atomic_long seq, live, fail_at;
static _Atomic bool fail_all;
static void *stack[DEPTH];
static atomic_int stack_depth;

/* dlsym() allocates before its caller knows an allocator. Never freed. */
static char early[4096] __attribute__((aligned(16)));
static size_t early_used;

static bool is_early(const void *ptr)
{
	return (uintptr_t)ptr - (uintptr_t)early < sizeof(early);
}

static void *early_alloc(size_t size)
{
	void *at = early + early_used;

	early_used += (size + 15) & ~(size_t)15;
	return early_used <= sizeof(early) ? at : NULL;
}

static void resolve(void)
{
	static bool resolving;

	if (libc.malloc || resolving)
		return;
	resolving = true;
	libc.calloc = dlsym(RTLD_NEXT, "calloc");
	libc.realloc = dlsym(RTLD_NEXT, "realloc");
	libc.aligned_alloc = dlsym(RTLD_NEXT, "aligned_alloc");
	libc.free = dlsym(RTLD_NEXT, "free");
	libc.malloc = dlsym(RTLD_NEXT, "malloc");
	resolving = false;
}

/* Before threads: the first call loads a library. */
__attribute__((constructor)) static void prepare(void)
{
	void *frame[2];

	resolve();
	backtrace(frame, 2);
}

static bool fails(void)
{
	long n, at;

	if (!atomic_load_explicit(&armed, memory_order_relaxed))
		return false;
	n = atomic_fetch_add(&seq, 1) + 1;
	at = atomic_load(&fail_at);
	if (!at || n < at || (n > at && !atomic_load(&fail_all)))
		return false;
	if (n == at) {
		/* What the stack walk allocates does not fail. */
		atomic_store(&armed, false);
		atomic_store(&stack_depth, backtrace(stack, DEPTH));
		atomic_store(&armed, true);
	}
	errno = ENOMEM;
	return true;
}

static void *counted(void *ptr)
{
	if (ptr)
		atomic_fetch_add(&live, 1);
	return ptr;
}

void *malloc(size_t size)
{
	resolve();
	if (!libc.malloc)
		return early_alloc(size);
	return fails() ? NULL : counted(libc.malloc(size));
}

void *calloc(size_t count, size_t size)
{
	resolve();
	if (!libc.malloc)
		return early_alloc(count * size); /* zeroed already */
	return fails() ? NULL : counted(libc.calloc(count, size));
}

void *realloc(void *ptr, size_t size)
{
	resolve();
	if (!ptr)
		return malloc(size);
	if (!libc.malloc || is_early(ptr))
		return NULL;
	return fails() ? NULL : libc.realloc(ptr, size);
}

void *reallocarray(void *ptr, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(ptr, bytes);
}

void *aligned_alloc(size_t align, size_t size)
{
	resolve();
	return fails() ? NULL : counted(libc.aligned_alloc(align, size));
}

void *memalign(size_t align, size_t size)
{
	return aligned_alloc(align, size);
}

int posix_memalign(void **out, size_t align, size_t size)
{
	void *ptr = aligned_alloc(align, size);

	if (!ptr)
		return ENOMEM;
	*out = ptr;
	return 0;
}

void free(void *ptr)
{
	if (!ptr || is_early(ptr))
		return;
	atomic_fetch_sub(&live, 1);
	libc.free(ptr);
}

void alloc_hook_arm(long n, bool all)
{
	atomic_store(&seq, 0);
	atomic_store(&fail_at, n);
	atomic_store(&fail_all, all);
	atomic_store(&armed, true);
}

long alloc_hook_disarm(void)
{
	atomic_store(&armed, false);
	return atomic_load(&seq);
}

long alloc_hook_live(void)
{
	return atomic_load(&live);
}

void alloc_hook_print(void)
{
	int depth = atomic_load(&stack_depth);

	if (depth > 2)
		backtrace_symbols_fd(stack + 2, depth - 2, STDERR_FILENO);
}
