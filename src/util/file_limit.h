/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * File operations that fail with -EFBIG at the limit of file sizes (RLIMIT_FSIZE, "ulimit -f"),
 * where the kernel would also send SIGXFSZ, which ends a program that does not expect it. Memory
 * files have the limit, too.
 */
#ifndef UTIL_FILE_LIMIT_H
#define UTIL_FILE_LIMIT_H

#include <stddef.h>
#include <sys/types.h>

#include "util/api.h"

/* As ftruncate(), posix_fallocate(), and pwrite() of all bytes. 0 or -errno. */
VB_API int file_resize(int fd, off_t size);
VB_API int file_allocate(int fd, off_t at, off_t size);
VB_API int file_write_at(int fd, const void *bytes, size_t len, off_t at);
/* As write() of all bytes, at the end of a file that is open for appending. 0 or -errno. */
VB_API int file_append(int fd, const void *bytes, size_t len);

#endif
