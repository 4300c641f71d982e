/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PTP hardware clocks: /dev/ptpN of the tree, read by clock_gettime() with the clock id that its descriptor makes
 * (FD_TO_CLOCKID in the kernel's testptp.c), and by ioctl() (ioctl.c). The kernel is asked first; it refuses these
 * descriptors, since they are plain files. The adapter's clock, by which completions have wall clock times, is
 * the host's CLOCK_REALTIME; so it cannot be set here.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/ptp_clock.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

#include "map.h"
#include "next.h"
#include "phc.h"

#define CLOCK_TYPE_FD 3 /* the low three bits of a clock id */

bool phc_is(int fd)
{
	char link[64], path[PATH_MAX];
	int saved = errno;
	size_t hidden = 0;
	ssize_t n;

	if (facade_active()) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		n = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof(path) - 1);
		if (n > 0) {
			path[n] = '\0';
			hidden = facade_hidden(path, (size_t)n);
		}
	}
	errno = saved;
	return hidden && !strncmp(path + hidden, "/dev/ptp", 8);
}

static bool is_phc_id(clockid_t id)
{
	return id < 0 && (id & 7) == CLOCK_TYPE_FD && phc_is(~(id >> 3));
}

FACADE_API int clock_gettime(clockid_t id, struct timespec *time)
{
	int result = NEXT(clock_gettime)(id, time);

	if (!result || !is_phc_id(id))
		return result;
	return NEXT(clock_gettime)(CLOCK_REALTIME, time);
}

FACADE_API int clock_getres(clockid_t id, struct timespec *time)
{
	int result = NEXT(clock_getres)(id, time);

	if (!result || !is_phc_id(id))
		return result;
	if (time)
		*time = (struct timespec){ .tv_nsec = 1 };
	return 0;
}

static int refuse(int result, clockid_t id)
{
	if (result < 0 && is_phc_id(id))
		errno = EOPNOTSUPP;
	return result;
}

FACADE_API int clock_settime(clockid_t id, const struct timespec *time)
{
	return refuse(NEXT(clock_settime)(id, time), id);
}

FACADE_API int clock_adjtime(clockid_t id, struct timex *change)
{
	unsigned int modes = change->modes;
	int result = NEXT(clock_adjtime)(id, change);

	if (result >= 0 || modes || !is_phc_id(id))
		return refuse(result, id);
	/* A question only: the clock runs as the host's. */
	memset(change, 0, sizeof(*change));
	return 0;
}

/* ---- ioctl ---- */

static struct ptp_clock_time now(clockid_t id)
{
	struct timespec time;

	NEXT(clock_gettime)(id, &time);
	return (struct ptp_clock_time){ .sec = time.tv_sec, .nsec = (uint32_t)time.tv_nsec };
}

static int sample(struct ptp_sys_offset *offset)
{
	unsigned int i;

	if (offset->n_samples > PTP_MAX_SAMPLES)
		return -EINVAL;
	for (i = 0; i < 2 * offset->n_samples + 1; i++)
		offset->ts[i] = now(CLOCK_REALTIME);
	return 0;
}

static int sample_extended(struct ptp_sys_offset_extended *offset)
{
	/* Three words behind the number of samples; in later headers, the first one is a clock. */
	static const char zeros[3 * sizeof(unsigned int)];
	unsigned int i, k;

	if (offset->n_samples > PTP_MAX_SAMPLES ||
	    memcmp((const char *)offset + sizeof(offset->n_samples), zeros, sizeof(zeros)) != 0)
		return -EINVAL;
	for (i = 0; i < offset->n_samples; i++)
		for (k = 0; k < 3; k++)
			offset->ts[i][k] = now(CLOCK_REALTIME);
	return 0;
}

int phc_ioctl(unsigned long request, void *arg)
{
	switch (request) {
	case PTP_CLOCK_GETCAPS:
	case PTP_CLOCK_GETCAPS2:
		memset(arg, 0, sizeof(struct ptp_clock_caps));
		((struct ptp_clock_caps *)arg)->cross_timestamping = 1;
		return 0;
	case PTP_SYS_OFFSET:
	case PTP_SYS_OFFSET2:
		return sample(arg);
	case PTP_SYS_OFFSET_EXTENDED:
	case PTP_SYS_OFFSET_EXTENDED2:
		return sample_extended(arg);
	case PTP_SYS_OFFSET_PRECISE:
	case PTP_SYS_OFFSET_PRECISE2:
		*(struct ptp_sys_offset_precise *)arg = (struct ptp_sys_offset_precise){
			.device = now(CLOCK_REALTIME),
			.sys_realtime = now(CLOCK_REALTIME),
			.sys_monoraw = now(CLOCK_MONOTONIC_RAW),
		};
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}
