/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs a program as a strict container would: system calls fail with EPERM, for root too.
 *
 *	forbid [--CALL...] PROGRAM ARGUMENT...
 *
 * Without options, unshare() and mount().
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CALLS 7

static const struct {
	const char *option;
	unsigned int number;
} calls[CALLS] = {
	{ "--unshare", SYS_unshare },
	{ "--mount", SYS_mount },
	{ "--userfaultfd", SYS_userfaultfd },
	{ "--memfd_create", SYS_memfd_create },
	{ "--process_vm_readv", SYS_process_vm_readv },
	{ "--process_vm_writev", SYS_process_vm_writev },
	{ "--socket", SYS_socket },
};

/* The call that the option names; CALLS: none. */
static unsigned int find(const char *option)
{
	unsigned int i;

	for (i = 0; i < CALLS && strcmp(calls[i].option, option) != 0; i++)
		;
	return i;
}

/* Two instructions for each call: is it this one? Then it fails. */
static unsigned short add(struct sock_filter *code, unsigned short n, unsigned int call)
{
	code[n++] =
		(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[call].number, 0, 1);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
	return n;
}

int main(int argc, char **argv)
{
	struct sock_filter code[2 * CALLS + 2] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	};
	struct sock_fprog program = { .filter = code };
	unsigned short n = 1;
	int at = 1;

	for (; at < argc && at <= CALLS && find(argv[at]) < CALLS; at++)
		n = add(code, n, find(argv[at]));
	if (at == 1)
		n = add(code, add(code, n, 0), 1);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	program.len = n;
	if (at >= argc || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
		perror("forbid");
		return 77;
	}
	execvp(argv[at], argv + at);
	perror(argv[at]);
	return 77;
}
