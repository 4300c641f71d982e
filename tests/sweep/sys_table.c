/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Left out, as they cannot fail so: clocks, ids (getpid, gettid), sched_yield, rseq, set_robust_list, arch_prctl, brk
 * (which answers the old end; malloc then uses mmap, which is in the table), lseek, umask, gettimeofday, exit,
 * signal masks and actions. munmap, mprotect of malloc's arenas and madvise fail for want of memory only where a
 * mapping has to be split, at the limit of mappings: mprotect and madvise are in the table, munmap is not, since
 * nothing could be done about it but to leave the mapping. Locks of files fail for want of memory with ENOLCK, and
 * only if the kernel lacks a hundred bytes, for which it rather ends a process. close() closes also where it fails, with EINTR, as in Linux.
 */
#include "sys_table.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "hook.h"

#define M(kind) (1u << HOOK_##kind)

#ifndef SYS_open
/* arm64 has only their forms with a folder or a signal mask; these are numbers that no call has. */
enum {
	SYS_open = 500,
	SYS_stat,
	SYS_lstat,
	SYS_access,
	SYS_readlink,
	SYS_mkdir,
	SYS_rename,
	SYS_link,
	SYS_chmod,
	SYS_epoll_wait,
	SYS_poll,
	SYS_select,
};
#endif

static const int errnos[HOOK_KINDS] = {
	[HOOK_ENOMEM] = ENOMEM, [HOOK_EMFILE] = EMFILE, [HOOK_ENOSPC] = ENOSPC,
	[HOOK_EINTR] = EINTR,   [HOOK_EAGAIN] = EAGAIN, [HOOK_EPERM] = EPERM,
};

/* EINTR and EAGAIN: see may_block(). */
static const uint8_t table[512] = {
	[SYS_open] = M(ENOMEM) | M(EMFILE) | M(EPERM) | M(ENOSPC),
	[SYS_openat] = M(ENOMEM) | M(EMFILE) | M(EPERM) | M(ENOSPC),
	[SYS_read] = M(ENOMEM) | M(EINTR) | M(EAGAIN),
	[SYS_readv] = M(ENOMEM) | M(EINTR) | M(EAGAIN),
	[SYS_pread64] = M(ENOMEM),
	[SYS_write] = M(ENOMEM) | M(ENOSPC) | M(EINTR) | M(EAGAIN),
	[SYS_writev] = M(ENOMEM) | M(ENOSPC) | M(EINTR) | M(EAGAIN),
	[SYS_pwrite64] = M(ENOMEM) | M(ENOSPC),
	[SYS_close] = M(EINTR),
	[SYS_stat] = M(ENOMEM),
	[SYS_lstat] = M(ENOMEM),
	[SYS_fstat] = M(ENOMEM),
	[SYS_newfstatat] = M(ENOMEM),
	[SYS_statx] = M(ENOMEM),
	[SYS_statfs] = M(ENOMEM),
	[SYS_fstatfs] = M(ENOMEM),
	[SYS_access] = M(ENOMEM),
	[SYS_faccessat2] = M(ENOMEM),
	[SYS_getdents64] = M(ENOMEM),
	[SYS_readlink] = M(ENOMEM) | M(EPERM),
	[SYS_readlinkat] = M(ENOMEM) | M(EPERM),
	[SYS_mkdir] = M(ENOMEM) | M(ENOSPC) | M(EPERM),
	[SYS_mkdirat] = M(ENOMEM) | M(ENOSPC) | M(EPERM),
	[SYS_rename] = M(ENOMEM) | M(ENOSPC) | M(EPERM),
	[SYS_renameat2] = M(ENOMEM) | M(ENOSPC) | M(EPERM),
	[SYS_link] = M(ENOMEM) | M(ENOSPC) | M(EPERM),
	[SYS_linkat] = M(ENOMEM) | M(ENOSPC) | M(EPERM),
	[SYS_chmod] = M(ENOMEM) | M(EPERM),
	[SYS_fchmod] = M(ENOMEM) | M(EPERM),
	[SYS_ftruncate] = M(ENOMEM) | M(ENOSPC) | M(EPERM) | M(EINTR),
	[SYS_fallocate] = M(ENOMEM) | M(ENOSPC) | M(EPERM) | M(EINTR),
	[SYS_flock] = M(ENOMEM) | M(EINTR) | M(EAGAIN),
	[SYS_fcntl] = M(ENOMEM) | M(EMFILE) | M(EPERM) | M(EINTR) | M(EAGAIN),
	[SYS_dup] = M(EMFILE),
	[SYS_dup3] = M(EMFILE),
	[SYS_pipe2] = M(EMFILE) | M(ENOMEM),
	[SYS_memfd_create] = M(ENOMEM) | M(EMFILE) | M(EPERM),
	[SYS_mmap] = M(ENOMEM),
	[SYS_mremap] = M(ENOMEM) | M(EAGAIN),
	[SYS_mprotect] = M(ENOMEM),
	[SYS_madvise] = M(ENOMEM) | M(EAGAIN),
	[SYS_mincore] = M(ENOMEM) | M(EAGAIN),
	[SYS_mlock] = M(ENOMEM) | M(EAGAIN) | M(EPERM),
	[SYS_shmget] = M(ENOMEM) | M(ENOSPC) | M(EPERM),
	[SYS_shmat] = M(ENOMEM) | M(EPERM),
	[SYS_shmctl] = M(ENOMEM) | M(EPERM),
	[SYS_socket] = M(ENOMEM) | M(EMFILE) | M(EPERM),
	[SYS_socketpair] = M(ENOMEM) | M(EMFILE),
	[SYS_bind] = M(ENOMEM) | M(ENOSPC) | M(EPERM),
	[SYS_listen] = M(ENOMEM) | M(EPERM),
	[SYS_connect] = M(ENOMEM) | M(EPERM) | M(EINTR) | M(EAGAIN),
	[SYS_accept] = M(ENOMEM) | M(EMFILE) | M(EPERM) | M(EINTR) | M(EAGAIN),
	[SYS_accept4] = M(ENOMEM) | M(EMFILE) | M(EPERM) | M(EINTR) | M(EAGAIN),
	[SYS_setsockopt] = M(ENOMEM) | M(EPERM),
	[SYS_getsockopt] = M(ENOMEM) | M(EPERM),
	[SYS_sendto] = M(ENOMEM) | M(EPERM) | M(EINTR) | M(EAGAIN),
	[SYS_sendmsg] = M(ENOMEM) | M(EPERM) | M(EINTR) | M(EAGAIN),
	[SYS_sendmmsg] = M(ENOMEM) | M(EPERM) | M(EINTR) | M(EAGAIN),
	[SYS_recvfrom] = M(ENOMEM) | M(EINTR) | M(EAGAIN),
	[SYS_recvmsg] = M(ENOMEM) | M(EINTR) | M(EAGAIN),
	[SYS_recvmmsg] = M(ENOMEM) | M(EINTR) | M(EAGAIN),
	[SYS_eventfd2] = M(ENOMEM) | M(EMFILE),
	[SYS_epoll_create1] = M(ENOMEM) | M(EMFILE),
	[SYS_epoll_ctl] = M(ENOMEM) | M(ENOSPC),
	[SYS_epoll_wait] = M(EINTR),
	[SYS_epoll_pwait] = M(EINTR),
	[SYS_poll] = M(ENOMEM) | M(EINTR),
	[SYS_ppoll] = M(ENOMEM) | M(EINTR),
	[SYS_select] = M(ENOMEM) | M(EINTR),
	[SYS_pselect6] = M(ENOMEM) | M(EINTR),
	[SYS_nanosleep] = M(EINTR),
	[SYS_clock_nanosleep] = M(EINTR),
	[SYS_timerfd_create] = M(ENOMEM) | M(EMFILE),
	[SYS_inotify_init1] = M(ENOMEM) | M(EMFILE),
	[SYS_inotify_add_watch] = M(ENOMEM) | M(ENOSPC) | M(EPERM),
	[SYS_userfaultfd] = M(ENOMEM) | M(EMFILE) | M(EPERM),
	[SYS_ioctl] = M(ENOMEM) | M(EPERM) | M(EAGAIN),
	[SYS_futex] = M(EINTR),
	[SYS_clone] = M(ENOMEM) | M(EAGAIN) | M(EPERM),
	[SYS_clone3] = M(ENOMEM) | M(EAGAIN) | M(EPERM),
	[SYS_process_vm_readv] = M(ENOMEM) | M(EPERM),
	[SYS_process_vm_writev] = M(ENOMEM) | M(EPERM),
	[SYS_pidfd_open] = M(ENOMEM) | M(EMFILE) | M(EPERM),
	[SYS_kcmp] = M(EPERM),
	[SYS_membarrier] = M(ENOMEM) | M(EPERM),
	[SYS_sched_setattr] = M(EPERM),
	[SYS_sched_setaffinity] = M(ENOMEM) | M(EPERM),
	[SYS_sched_getaffinity] = M(ENOMEM) | M(EPERM),
	[SYS_prctl] = M(EPERM),
	[SYS_capget] = M(EPERM),
	[SYS_kill] = M(EPERM),
	[SYS_getrandom] = 0,
};

static bool fd_blocks(long fd)
{
	long flags = sys_hook_raw(SYS_fcntl, fd, F_GETFL, 0, 0, 0, 0);

	return flags >= 0 && !(flags & O_NONBLOCK);
}

/* Calls that can wait are interrupted; those that must not wait say EAGAIN instead. */
static bool may_block(long nr, const long *arg)
{
	switch (nr) {
	case SYS_read:
	case SYS_readv:
	case SYS_write:
	case SYS_writev:
	case SYS_connect:
	case SYS_accept:
	case SYS_accept4:
		return fd_blocks(arg[0]);
	case SYS_sendto:
	case SYS_recvfrom:
	case SYS_sendmmsg:
	case SYS_recvmmsg:
		return !(arg[3] & MSG_DONTWAIT) && fd_blocks(arg[0]);
	case SYS_sendmsg:
	case SYS_recvmsg:
		return !(arg[2] & MSG_DONTWAIT) && fd_blocks(arg[0]);
	case SYS_flock:
		return !(arg[1] & LOCK_NB);
	case SYS_fcntl:
		return arg[1] == F_SETLKW || arg[1] == F_OFD_SETLKW;
	case SYS_poll:
		return arg[2] != 0;
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
		return arg[3] != 0;
	case SYS_futex:
		return (arg[1] & FUTEX_CMD_MASK) == FUTEX_WAIT ||
		       (arg[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
	default:
		return true;
	}
}

/* Of calls that do many things, those errors that this one may have. */
static unsigned int kinds_of(long nr, const long *arg)
{
	unsigned int kinds = table[nr];

	if ((nr == SYS_openat && !(arg[2] & O_CREAT)) || (nr == SYS_open && !(arg[1] & O_CREAT)))
		kinds &= ~M(ENOSPC);
	if (nr == SYS_fcntl) {
		if (arg[1] == F_DUPFD || arg[1] == F_DUPFD_CLOEXEC)
			kinds = M(EMFILE);
		else if (arg[1] == F_ADD_SEALS)
			kinds = M(EPERM);
		else if (arg[1] == F_SETLK || arg[1] == F_OFD_SETLK)
			kinds = ((const struct flock *)arg[2])->l_type == F_UNLCK ? 0 : M(EAGAIN);
		else if (arg[1] == F_SETLKW || arg[1] == F_OFD_SETLKW)
			kinds = M(EINTR);
		else
			kinds = 0;
	}
	if ((nr == SYS_read || nr == SYS_write) && arg[2] == 8)
		kinds &= ~(M(ENOMEM) | M(ENOSPC)); /* event counters */
	if (kinds & M(EINTR) && !may_block(nr, arg))
		kinds &= ~M(EINTR);
	if (kinds & M(EAGAIN) && kinds & M(EINTR) && may_block(nr, arg))
		kinds &= ~M(EAGAIN);
	return kinds;
}

/* A socket that has something to receive, or a lock that is free, is so in the end. */
static bool lasts(long nr, int kind)
{
	return kind != HOOK_EINTR && (kind != HOOK_EAGAIN || nr == SYS_clone || nr == SYS_clone3 ||
				      nr == SYS_sendmsg || nr == SYS_sendmmsg || nr == SYS_sendto);
}

int sys_table_fails(long nr, const long *arg)
{
	unsigned int kinds;
	int err = 0;

	if (nr < 0 || nr >= (long)(sizeof(table) / sizeof(table[0])) || !table[nr])
		return 0;
	kinds = kinds_of(nr, arg);
	for (int kind = HOOK_ALLOC + 1; kind < HOOK_KINDS; kind++)
		if (kinds & 1u << kind && hook_fails(kind, lasts(nr, kind)))
			err = errnos[kind];
	if (err && nr == SYS_close)
		sys_hook_raw(nr, arg[0], 0, 0, 0, 0, 0);
	return err;
}
