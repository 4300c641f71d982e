/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CLOCK_MONOTONIC in nanoseconds: the clock of all deadlines.
 */
#ifndef FABRIC_CLOCK_H
#define FABRIC_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t fabric_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#endif
