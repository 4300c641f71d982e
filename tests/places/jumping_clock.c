/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A library to preload: the time of day jumps, by up to a year to and fro, at every look. Clocks that do not
 * jump on a real machine stay as they are. Code that measures times or sets limits by the time of day fails.
 */
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define YEAR 31536000

static _Atomic unsigned int looks;

static time_t jump(void)
{
	unsigned int n = atomic_fetch_add(&looks, 1) * 2654435761u;

	return (time_t)(n % (2 * YEAR)) - YEAR;
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t id, struct timespec *ts)
{
	int rc = (int)syscall(SYS_clock_gettime, id, ts);

	if (!rc && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
		ts->tv_sec += jump();
	return rc;
}

__attribute__((visibility("default"))) int gettimeofday(struct timeval *tv, void *zone)
{
	struct timespec ts;

	(void)zone;
	clock_gettime(CLOCK_REALTIME, &ts);
	tv->tv_sec = ts.tv_sec;
	tv->tv_usec = ts.tv_nsec / 1000;
	return 0;
}

__attribute__((visibility("default"))) time_t time(time_t *out)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	if (out)
		*out = ts.tv_sec;
	return ts.tv_sec;
}
