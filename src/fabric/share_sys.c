/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * System calls for moving memory: -errno instead of errno, addresses as numbers, no
 * cancellation point, and past the wrappers that sanitizers put around libc's memory calls.
 */
#include "fabric/share_sys.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/syscall.h>
#include <unistd.h>

static long result(long r)
{
	return r == -1 ? -errno : r;
}

uintptr_t share_sys_mmap(uintptr_t addr, size_t len, int prot, int flags, int fd, uint64_t off)
{
	return (uintptr_t)result(syscall(SYS_mmap, addr, len, prot, flags, fd, off));
}

uintptr_t share_sys_mremap(uintptr_t old, size_t len, int flags, uintptr_t to)
{
	return (uintptr_t)result(syscall(SYS_mremap, old, len, len, flags, to));
}

int share_sys_munmap(uintptr_t addr, size_t len)
{
	return (int)result(syscall(SYS_munmap, addr, len));
}

int share_sys_mprotect(uintptr_t addr, size_t len, int prot)
{
	return (int)result(syscall(SYS_mprotect, addr, len, prot));
}

int share_sys_madvise(uintptr_t addr, size_t len, int advice)
{
	return (int)result(syscall(SYS_madvise, addr, len, advice));
}

int share_sys_mlock(uintptr_t addr, size_t len)
{
	return (int)result(syscall(SYS_mlock, addr, len));
}

int share_sys_munlock(uintptr_t addr, size_t len)
{
	return (int)result(syscall(SYS_munlock, addr, len));
}

int share_sys_mincore(uintptr_t addr, size_t len, void *pages)
{
	return (int)result(syscall(SYS_mincore, addr, len, pages));
}

int share_sys_ioctl(int fd, unsigned long request, void *arg)
{
	return (int)result(syscall(SYS_ioctl, fd, request, arg));
}

int64_t share_sys_pwrite(int fd, uintptr_t from, size_t len, uint64_t off)
{
	return result(syscall(SYS_pwrite64, fd, from, len, off));
}

int64_t share_sys_pread(int fd, uintptr_t to, size_t len, uint64_t off)
{
	return result(syscall(SYS_pread64, fd, to, len, off));
}

int64_t share_sys_lseek(int fd, uint64_t off, int whence)
{
	return result(syscall(SYS_lseek, fd, off, whence));
}

int share_sys_punch(int fd, uint64_t off, size_t len)
{
	return (int)result(
		syscall(SYS_fallocate, fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, off, len));
}

int share_sys_open(const char *path, int flags)
{
	return (int)result(syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC));
}

void share_sys_close(int fd)
{
	syscall(SYS_close, fd);
}
