/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * System calls that fail. A seccomp filter turns every system call of the process into a SIGSYS, whose handler
 * counts it and lets it fail, or makes it from an instruction that the filter allows. So it sees each call of the
 * libraries and of libc below them, inline ones and those of the loader included, which wrappers of libc's functions
 * do not; it needs no second process for each call, as a tracer or the filter's notifications do, and a run takes
 * hardly longer. The price: SIGSYS must never be blocked, so the handler does what changes signal masks itself; and a
 * new thread must not start inside a handler, so its call is made anew, from another instruction that is allowed.
 */
#include "hook.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "sys_table.h"

#ifdef __x86_64__

/* The two instructions that may make system calls; each label is where the kernel sees the call come from. */
extern const char sys_hook_raw_end[], sys_hook_clone[], sys_hook_clone_end[];
__asm__(".text\n"
	".globl sys_hook_raw\n"
	".type sys_hook_raw, @function\n"
	"sys_hook_raw:\n"
	"	mov %rdi, %rax\n"
	"	mov %rsi, %rdi\n"
	"	mov %rdx, %rsi\n"
	"	mov %rcx, %rdx\n"
	"	mov %r8, %r10\n"
	"	mov %r9, %r8\n"
	"	mov 8(%rsp), %r9\n"
	"	syscall\n"
	"sys_hook_raw_end:\n"
	"	ret\n"
	".size sys_hook_raw, . - sys_hook_raw\n"
	"sys_hook_clone:\n"
	"	syscall\n"
	"sys_hook_clone_end:\n"
	"	jmp *sys_hook_clone_site(%rip)\n");

/* Where libc makes the call that starts threads: one place. */
__attribute__((visibility("hidden"))) uint64_t sys_hook_clone_site;

#define SIGSYS_BIT (1ull << (SIGSYS - 1))

/* SIGSYS handlers run with the mask of their thread, which the return from the handler sets: change that one. */
static long change_mask(ucontext_t *uc, int how, const uint64_t *set, uint64_t *old)
{
	uint64_t *mask = (uint64_t *)&uc->uc_sigmask;

	if (old)
		*old = *mask;
	if (!set)
		return 0;
	if (how == SIG_BLOCK)
		*mask |= *set;
	else if (how == SIG_UNBLOCK)
		*mask &= ~*set;
	else
		*mask = *set;
	*mask &= ~SIGSYS_BIT;
	return 0;
}

struct kernel_sigaction {
	void *handler;
	unsigned long flags;
	void *restorer;
	uint64_t mask;
};

static long change_action(long sig, const struct kernel_sigaction *act, long old, long size)
{
	struct kernel_sigaction copy;

	if (act && sig == SIGSYS)
		return 0;
	if (act) {
		copy = *act;
		copy.mask &= ~SIGSYS_BIT;
		act = &copy;
	}
	return sys_hook_raw(SYS_rt_sigaction, sig, (long)act, old, size, 0, 0);
}

/* Starts of threads, whose stack is another one. */
static bool starts_thread(const long *arg, long nr)
{
	return nr == SYS_clone3 ? *(const uint64_t *)arg[0] & CLONE_VM
				: nr == SYS_clone && (arg[0] & CLONE_VM);
}

static void on_sigsys(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	greg_t *reg = uc->uc_mcontext.gregs;
	long arg[6] = { reg[REG_RDI], reg[REG_RSI], reg[REG_RDX],
			reg[REG_R10], reg[REG_R8],  reg[REG_R9] };
	long nr = info->si_syscall;
	int err = sys_table_fails(nr, arg);

	(void)sig;
	if (nr == SYS_rt_sigprocmask) {
		reg[REG_RAX] = change_mask(uc, (int)arg[0], (void *)arg[1], (void *)arg[2]);
	} else if (nr == SYS_rt_sigaction) {
		reg[REG_RAX] = change_action(arg[0], (void *)arg[1], arg[2], arg[3]);
	} else if (err) {
		reg[REG_RAX] = -err;
	} else if (starts_thread(arg, nr)) {
		if (sys_hook_clone_site && sys_hook_clone_site != (uint64_t)reg[REG_RIP])
			abort();
		sys_hook_clone_site = reg[REG_RIP];
		reg[REG_RAX] = nr;
		reg[REG_RIP] = (greg_t)sys_hook_clone;
	} else {
		reg[REG_RAX] = sys_hook_raw(nr, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
	}
}

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
/* Allowed, if what was loaded is this. */
#define ALLOW(value)                                                                               \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), 0, 1),                              \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
/* Allowed from this address. */
#define ALLOW_FROM(at)                                                                             \
	LOAD(instruction_pointer), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(at), 0, 3),      \
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,                                                 \
			 offsetof(struct seccomp_data, instruction_pointer) + 4),                  \
		ALLOW((at) >> 32)

bool sys_hook_install(void)
{
	const uintptr_t raw = (uintptr_t)sys_hook_raw_end, clone = (uintptr_t)sys_hook_clone_end;
	struct sock_filter code[] = {
		ALLOW_FROM(raw),
		ALLOW_FROM(clone),
		LOAD(nr),
		ALLOW(SYS_rt_sigreturn),
		ALLOW(SYS_exit),
		ALLOW(SYS_exit_group),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };
	struct sigaction act = { .sa_sigaction = on_sigsys, .sa_flags = SA_SIGINFO | SA_NODEFER };

	return !sigaction(SIGSYS, &act, NULL) && !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

#else

long sys_hook_raw(long nr, long a, long b, long c, long d, long e, long f)
{
	return syscall(nr, a, b, c, d, e, f);
}

bool sys_hook_install(void)
{
	return false;
}

#endif
