/* SPDX-License-Identifier: BSD-2-Clause */
#include "hook.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
	void *(*malloc)(size_t size);
	void *(*calloc)(size_t count, size_t size);
	void *(*realloc)(void *ptr, size_t size);
	void *(*aligned_alloc)(size_t align, size_t size);
	void (*free)(void *ptr);
} libc;

static atomic_long live;

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

/* Before threads. */
__attribute__((constructor)) static void prepare(void)
{
	resolve();
}

static __thread bool starting;

/* The address sanitizer asks for the stack of each new thread, and ends the process where that fails. */
int pthread_getattr_np(pthread_t thread, pthread_attr_t *attr)
{
	int (*real)(pthread_t, pthread_attr_t *) = dlsym(RTLD_NEXT, "pthread_getattr_np");
	int err;

	starting = true;
	err = real(thread, attr);
	starting = false;
	return err;
}

static bool fails(void)
{
	if (starting || !hook_fails(HOOK_ALLOC, true))
		return false;
	errno = ENOMEM;
	return true;
}

/* ---- which allocations are left, if asked for ---- */

#define RECORDS 16384
#define DEPTH   14

static struct record {
	void *ptr;
	void *frame[DEPTH];
} records[RECORDS];
static bool recording;
static atomic_flag records_lock = ATOMIC_FLAG_INIT;

static void record(void *from, void *to)
{
	void *frame[DEPTH] = { 0 };
	static __thread bool inside;

	if (!recording || inside)
		return;
	inside = true;
	if (to)
		backtrace(frame, DEPTH);
	while (atomic_flag_test_and_set(&records_lock))
		;
	for (int i = 0; i < RECORDS; i++)
		if (records[i].ptr == from) {
			records[i].ptr = to;
			memcpy(records[i].frame, frame, sizeof(frame));
			break;
		}
	atomic_flag_clear(&records_lock);
	inside = false;
}

void alloc_hook_record(void)
{
	recording = true;
}

void alloc_hook_print_live(void)
{
	recording = false;
	for (int i = 0; i < RECORDS; i++)
		if (records[i].ptr) {
			dprintf(STDERR_FILENO, "left:\n");
			backtrace_symbols_fd(records[i].frame + 2, DEPTH - 2, STDERR_FILENO);
		}
}

static void *counted(void *ptr)
{
	if (ptr) {
		atomic_fetch_add(&live, 1);
		record(NULL, ptr);
	}
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
	if (fails())
		return NULL;
	record(ptr, NULL);
	ptr = libc.realloc(ptr, size);
	record(NULL, ptr);
	return ptr;
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
	record(ptr, NULL);
	libc.free(ptr);
}

long alloc_hook_live(void)
{
	return atomic_load(&live);
}
