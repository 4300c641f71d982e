/* SPDX-License-Identifier: BSD-2-Clause */
/* Clocks, the median of rounds, and the end after an error, for all programs of this folder. */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline double clock_s(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static inline double now_s(void)
{
	return clock_s(CLOCK_MONOTONIC);
}

/* Processor time of the thread: not what other programs take. */
static inline double cpu_s(void)
{
	return clock_s(CLOCK_THREAD_CPUTIME_ID);
}

/* Processor time of all threads of the process, where the service thread has a part in the work. */
static inline double process_cpu_s(void)
{
	return clock_s(CLOCK_PROCESS_CPUTIME_ID);
}

static inline int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Sorts the values. */
static inline double median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), compare_doubles);
	return values[count / 2];
}

static inline _Noreturn void die(const char *what)
{
	perror(what);
	exit(1);
}

#endif
