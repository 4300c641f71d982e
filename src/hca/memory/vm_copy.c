/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/memory/vm_copy.h"

#include <errno.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static ssize_t copy_unguarded(const struct vm_copy *copy)
{
	struct iovec here = { copy->here, copy->len };
	struct iovec there = { (void *)copy->there, copy->len };
	ssize_t n = copy->write ? process_vm_writev(copy->pid, &here, 1, &there, 1, 0)
				: process_vm_readv(copy->pid, &here, 1, &there, 1, 0);

	return n < 0 ? -errno : n;
}

#if defined(__x86_64__) && defined(__GLIBC__) && __has_include(<sys/rseq.h>)
#include <sys/rseq.h>

#pragma weak __rseq_size
#pragma weak __rseq_offset

/* A debugger that steps through the sequence aborts it each time. */
#define MAX_ABORTS 1000u

static struct rseq *own_rseq(void)
{
	return (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
}

static bool is_registered(void)
{
	return (int)__atomic_load_n(&own_rseq()->cpu_id, __ATOMIC_RELAXED) >= 0;
}

bool vm_copy_is_guarded(void)
{
	return &__rseq_size && &__rseq_offset && __rseq_size && is_registered();
}

bool vm_copy_is_ready(void)
{
	return !&__rseq_size || !&__rseq_offset || !__rseq_size || is_registered();
}

/* -EAGAIN: the sequence was aborted. */
static ssize_t run_sequence(const struct vm_copy *copy, const _Atomic uint32_t *word,
			    uint32_t value)
{
	struct iovec here = { copy->here, copy->len };
	struct iovec there = { (void *)copy->there, copy->len };
	long result = copy->write ? SYS_process_vm_writev : SYS_process_vm_readv;

	/*
	 * The system call is the last instruction of the sequence: a thread inside the call is
	 * behind it. The descriptor stays in place afterwards, as the kernel permits.
	 */
	__asm__ volatile(".pushsection __rseq_cs, \"aw\"\n\t"
			 ".balign 32\n"
			 "3:\t.long 0, 0\n\t"
			 ".quad 1f, 2f - 1f, 4f\n\t"
			 ".popsection\n\t"
			 "movq %[there], %%r10\n\t"
			 "movl $1, %%r8d\n\t"
			 "xorl %%r9d, %%r9d\n\t"
			 "leaq 3b(%%rip), %%rcx\n\t"
			 "movq %%rcx, %[cs]\n"
			 "1:\tcmpl %[value], %[word]\n\t"
			 "jne 5f\n\t"
			 "syscall\n"
			 "2:\tjmp 6f\n\t"
			 ".byte 0x0f, 0xb9, 0x3d\n\t"
			 ".long %c[signature]\n"
			 "4:\tmovq %[aborted], %%rax\n\t"
			 "jmp 6f\n"
			 "5:\tmovq %[canceled], %%rax\n"
			 "6:"
			 : "+a"(result), [cs] "=m"(own_rseq()->rseq_cs)
			 : [word] "m"(*(const uint32_t *)word), [value] "r"(value),
			   "D"((long)copy->pid), "S"(&here),
			   "d"(1L), [there] "r"(&there), [signature] "i"(RSEQ_SIG),
			   [aborted] "i"(-EAGAIN), [canceled] "i"(-ECANCELED)
			 : "rcx", "r8", "r9", "r10", "r11", "cc", "memory");
	return result;
}

ssize_t vm_copy_run(const struct vm_copy *copy, const _Atomic uint32_t *word, uint32_t value)
{
	ssize_t n = -EAGAIN;

	if (!word || !vm_copy_is_guarded())
		return copy_unguarded(copy);
	for (unsigned int i = 0; n == -EAGAIN && i < MAX_ABORTS; i++)
		n = run_sequence(copy, word, value);
	return n == -EAGAIN ? copy_unguarded(copy) : n;
}

#else

bool vm_copy_is_guarded(void)
{
	return false;
}

bool vm_copy_is_ready(void)
{
	return true;
}

ssize_t vm_copy_run(const struct vm_copy *copy, const _Atomic uint32_t *word, uint32_t value)
{
	return copy_unguarded(copy);
}

#endif
