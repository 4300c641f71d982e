/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copies by the kernel that begin only while a word has its value, also if the thread is stopped
 * right before the call.
 */
#include "hca/memory/vm_copy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <linux/rseq.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

/* As vm_copy.c: elsewhere there is no sequence. */
#if defined(__x86_64__) && defined(__GLIBC__) && __has_include(<sys/rseq.h>)
#define HAS_SEQUENCE
#endif

#define VALUE 7u
#define BYTES 4096u

/* Of both processes; `memory` is the parent's own. */
static struct both {
	_Atomic uint32_t word;
	ssize_t result;
	char here[BYTES];
} * both;
static char memory[BYTES];

static int set_up(void **state)
{
	both = mmap(NULL, sizeof(*both), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(both, MAP_FAILED);
	both->word = VALUE;
	both->result = 1;
	memset(both->here, 5, BYTES);
	memset(memory, 3, BYTES);
	return 0;
}

static int tear_down(void **state)
{
	return munmap(both, sizeof(*both));
}

static ssize_t copy(pid_t pid, bool write)
{
	struct vm_copy c = { .pid = pid,
			     .there = (uintptr_t)memory,
			     .here = both->here,
			     .len = BYTES,
			     .write = write };

	return vm_copy_run(&c, &both->word, VALUE);
}

static void bytes_are_copied_both_ways(void **state)
{
	assert_true(vm_copy_is_ready());
	assert_int_equal(copy(getpid(), true), BYTES);
	assert_memory_equal(memory, both->here, BYTES);
	memset(memory, 9, BYTES);
	assert_int_equal(copy(getpid(), false), BYTES);
	assert_memory_equal(both->here, memory, BYTES);
}

static void an_error_of_the_kernel_is_told(void **state)
{
	struct vm_copy c = { .pid = getpid(), .there = 1, .here = both->here, .len = BYTES };

	assert_int_equal(vm_copy_run(&c, &both->word, VALUE), -EFAULT);
	assert_int_equal(vm_copy_run(&c, NULL, 0), -EFAULT);
}

static void nothing_is_copied_when_the_word_has_changed(void **state)
{
	if (!vm_copy_is_guarded())
		skip();
	both->word = VALUE + 1;
	assert_int_equal(copy(getpid(), true), -ECANCELED);
	assert_int_equal(memory[0], 3);
	assert_int_equal(copy(getpid(), false), -ECANCELED);
	assert_int_equal(both->here[0], 5);
}

#ifdef HAS_SEQUENCE

/* The descriptors of the program's sequences: there is one. */
extern const struct rseq_cs __start___rseq_cs[] __attribute__((visibility("hidden")));

#define SYSCALL_BYTES 2

/* Writes to the parent, and is stopped by a breakpoint right before the system call. */
static pid_t start_child(uintptr_t at, long *saved)
{
	pid_t parent = getpid(), child = fork();
	int status;

	assert_true(child >= 0);
	if (!child) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		both->result = copy(parent, true);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSTOPPED(status));
	errno = 0;
	*saved = ptrace(PTRACE_PEEKTEXT, child, (void *)at, NULL);
	assert_int_equal(errno, 0);
	assert_int_equal(
		ptrace(PTRACE_POKETEXT, child, (void *)at, (void *)((*saved & ~0xffl) | 0xcc)), 0);
	assert_int_equal(ptrace(PTRACE_CONT, child, NULL, NULL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSTOPPED(status));
	assert_int_equal(WSTOPSIG(status), SIGTRAP);
	return child;
}

/* From the system call on, as if there had been no breakpoint. */
static void let_go_on(pid_t child, uintptr_t at, long saved)
{
	struct user_regs_struct regs;
	int status;

	assert_int_equal(ptrace(PTRACE_GETREGS, child, NULL, &regs), 0);
	assert_int_equal(regs.rip, at + 1);
	regs.rip = at;
	assert_int_equal(ptrace(PTRACE_SETREGS, child, NULL, &regs), 0);
	assert_int_equal(ptrace(PTRACE_POKETEXT, child, (void *)at, (void *)saved), 0);
	assert_int_equal(ptrace(PTRACE_DETACH, child, NULL, NULL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static uintptr_t call_address(void)
{
	return __start___rseq_cs->start_ip + __start___rseq_cs->post_commit_offset - SYSCALL_BYTES;
}

static void a_thread_that_is_stopped_before_the_call_looks_again(void **state)
{
	uintptr_t at = call_address();
	pid_t child;
	long saved;

	if (!vm_copy_is_guarded())
		skip();
	child = start_child(at, &saved);
	both->word = VALUE + 1;
	let_go_on(child, at, saved);
	assert_int_equal(both->result, -ECANCELED);
	assert_int_equal(memory[0], 3);
	assert_int_equal(memory[BYTES - 1], 3);
}

static void a_thread_that_is_stopped_before_the_call_copies_if_it_still_may(void **state)
{
	uintptr_t at = call_address();
	pid_t child;
	long saved;

	if (!vm_copy_is_guarded())
		skip();
	child = start_child(at, &saved);
	let_go_on(child, at, saved);
	assert_int_equal(both->result, BYTES);
	assert_memory_equal(memory, both->here, BYTES);
}

#endif

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(bytes_are_copied_both_ways),
		TEST(an_error_of_the_kernel_is_told),
		TEST(nothing_is_copied_when_the_word_has_changed),
#ifdef HAS_SEQUENCE
		TEST(a_thread_that_is_stopped_before_the_call_looks_again),
		TEST(a_thread_that_is_stopped_before_the_call_copies_if_it_still_may),
#endif
	};

	/* A child may write here also where Yama restricts that. */
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
