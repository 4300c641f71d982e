/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * membarrier(2), for which libc has no function. True when the kernel did what was asked; kernels
 * before 4.16 and some sandboxes do not know the call.
 */
#ifndef UTIL_MEMBARRIER_H
#define UTIL_MEMBARRIER_H

#include <linux/membarrier.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline bool membarrier(int command)
{
	return syscall(SYS_membarrier, command, 0, 0) == 0;
}

#endif
