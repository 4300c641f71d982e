/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * System calls that set no errno in a page that may be moving: they return -errno.
 */
#ifndef FABRIC_SHARE_SYS_H
#define FABRIC_SHARE_SYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 0 or an address; -errno otherwise, which share_sys_failed() tells apart. */
uintptr_t share_sys_mmap(uintptr_t addr, size_t len, int prot, int flags, int fd, uint64_t off);
uintptr_t share_sys_mremap(uintptr_t old, size_t len, int flags, uintptr_t to);
int share_sys_munmap(uintptr_t addr, size_t len);
int share_sys_mprotect(uintptr_t addr, size_t len, int prot);
int share_sys_madvise(uintptr_t addr, size_t len, int advice);
int share_sys_mlock(uintptr_t addr, size_t len);
int share_sys_munlock(uintptr_t addr, size_t len);
/* One byte per page; bit 0: the page is in memory. */
int share_sys_mincore(uintptr_t addr, size_t len, void *pages);
int share_sys_ioctl(int fd, unsigned long request, void *arg);
int64_t share_sys_pwrite(int fd, uintptr_t from, size_t len, uint64_t off);
int64_t share_sys_pread(int fd, uintptr_t to, size_t len, uint64_t off);
int64_t share_sys_lseek(int fd, uint64_t off, int whence);
int share_sys_punch(int fd, uint64_t off, size_t len);
int share_sys_open(const char *path, int flags);
void share_sys_close(int fd);

static inline bool share_sys_failed(uintptr_t result)
{
	return result > (uintptr_t)-4096;
}

#endif
