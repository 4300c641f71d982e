/* SPDX-License-Identifier: BSD-2-Clause */
/* Waiting for a word of shared memory to change; glibc has no function for it. */
#ifndef UTIL_FUTEX_H
#define UTIL_FUTEX_H

#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Returns at once unless the word has this value; else at a wake, a signal or the timeout. */
static inline void futex_wait(_Atomic uint32_t *word, uint32_t value,
			      const struct timespec *timeout)
{
	syscall(SYS_futex, word, FUTEX_WAIT, value, timeout, NULL, 0);
}

static inline void futex_wake_all(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

#endif
