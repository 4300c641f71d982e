/* SPDX-License-Identifier: BSD-2-Clause */
#include "hook.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "scenario.h"

#define DEPTH 40

static _Atomic bool armed;
static atomic_long seq[HOOK_KINDS], fail_at;
static atomic_int fail_kind;
static _Atomic bool fail_all;
static void *stack[DEPTH];
static atomic_int stack_depth;
static __thread int own;

void own_begin(void)
{
	own++;
}

void own_end(void)
{
	own--;
}

/* Before threads: the first call loads a library. */
__attribute__((constructor)) static void prepare(void)
{
	void *frame[2];

	backtrace(frame, 2);
}

bool hook_fails(enum hook_kind kind, bool lasting)
{
	long n, at;

	if (!atomic_load_explicit(&armed, memory_order_relaxed) || own)
		return false;
	n = atomic_fetch_add(&seq[kind], 1) + 1;
	at = atomic_load(&fail_at);
	if ((int)kind != atomic_load(&fail_kind) || !at || n < at)
		return false;
	if (n == at) {
		/* What the stack walk allocates does not fail. */
		own++;
		atomic_store(&stack_depth, backtrace(stack, DEPTH));
		own--;
		return true;
	}
	return atomic_load(&fail_all) && (lasting || (n - at) % 2 == 0);
}

void hook_arm(enum hook_kind kind, long n, bool all)
{
	for (int k = 0; k < HOOK_KINDS; k++)
		atomic_store(&seq[k], 0);
	atomic_store(&fail_kind, kind);
	atomic_store(&fail_at, n);
	atomic_store(&fail_all, all);
	atomic_store(&armed, true);
}

void hook_disarm(void)
{
	atomic_store(&armed, false);
}

long hook_count(enum hook_kind kind)
{
	return atomic_load(&seq[kind]);
}

bool hook_was_in(const char *function)
{
	int depth = atomic_load(&stack_depth);
	bool found = false;
	Dl_info info;

	own++;
	for (int i = 0; i < depth; i++)
		found |= dladdr(stack[i], &info) && info.dli_sname &&
			 !strcmp(info.dli_sname, function);
	own--;
	return found;
}

void hook_print(void)
{
	int depth = atomic_load(&stack_depth);

	own++;
	if (depth > 2)
		backtrace_symbols_fd(stack + 2, depth - 2, STDERR_FILENO);
	own--;
}
