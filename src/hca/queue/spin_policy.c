/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two tests. Before: are no more threads running than there are processors, and may we use more
 * than one of them? After: did we get all the time that has passed? If not, somebody shares the
 * core, and there is no spinning for a while, each time for longer.
 */
#include "hca/queue/spin_policy.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ASK_NS        20000000ull
#define REFUSE_NS     50000000ull
#define REFUSE_MOST   10000000000ull
#define FORGIVE_NS    100000000ull
#define LOST_LEAST_NS 20000u

static struct {
	bool spare;
	uint64_t ask_at, refused_until, refuse_ns, good_ns;
} spare = { .refuse_ns = REFUSE_NS };

/* Threads that run or want to, on the whole machine; 0 when the kernel does not say. */
static unsigned int running(void)
{
	char text[64];
	unsigned int count = 0;
	int fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	return sscanf(text, "%*s %*s %*s %u/", &count) == 1 ? count : 0;
}

static bool ask(void)
{
	cpu_set_t mine;

	if (sched_getaffinity(0, sizeof(mine), &mine) || CPU_COUNT(&mine) < 2)
		return false;
	return running() <= (unsigned long)sysconf(_SC_NPROCESSORS_ONLN);
}

bool spin_any(uint64_t now_ns)
{
	if (now_ns < spare.refused_until)
		return false;
	if (now_ns >= spare.ask_at) {
		spare.spare = ask();
		spare.ask_at = now_ns + ASK_NS;
	}
	return spare.spare;
}

static uint64_t thread_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void spin_begin(struct spin_phase *stint, uint64_t now_ns)
{
	stint->began_ns = now_ns;
	stint->cpu_ns = thread_ns();
}

bool spin_end(const struct spin_phase *stint, uint64_t now_ns)
{
	uint64_t passed = now_ns - stint->began_ns, had = thread_ns() - stint->cpu_ns;

	if (passed < had + LOST_LEAST_NS) {
		spare.good_ns += passed;
		if (spare.good_ns > FORGIVE_NS)
			spare.refuse_ns = REFUSE_NS;
		return true;
	}
	spare.good_ns = 0;
	spare.refused_until = now_ns + spare.refuse_ns;
	if (spare.refuse_ns < REFUSE_MOST)
		spare.refuse_ns *= 2;
	return false;
}

void spin_forked(void)
{
	memset(&spare, 0, sizeof(spare));
	spare.refuse_ns = REFUSE_NS;
}
