/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the machine itself can do, for scale: a cache line handed to and fro between two processes
 * on two cores (half round trip), and memcpy of one size.
 *
 *	handover line COUNT		microseconds
 *	handover memcpy BYTES COUNT	bytes per second
 */
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

static void pin(int core)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(core, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static int line(long count)
{
	_Atomic long *word =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	double start;

	if (word == MAP_FAILED)
		return 1;
	if (!fork()) {
		pin(1);
		for (long i = 0; i < count; i++) {
			while (atomic_load_explicit(word, memory_order_acquire) != 2 * i + 1)
				;
			atomic_store_explicit(word, 2 * i + 2, memory_order_release);
		}
		_exit(0);
	}
	pin(0);
	start = now_s();
	for (long i = 0; i < count; i++) {
		atomic_store_explicit(word, 2 * i + 1, memory_order_release);
		while (atomic_load_explicit(word, memory_order_acquire) != 2 * i + 2)
			;
	}
	printf("%.4f\n", (now_s() - start) / count / 2 * 1e6);
	wait(NULL);
	return 0;
}

static int copy(size_t bytes, long count)
{
	char *from = aligned_alloc(4096, (bytes + 4095) & ~4095ul);
	char *to = aligned_alloc(4096, (bytes + 4095) & ~4095ul);
	double start;

	if (!from || !to)
		return 1;
	memset(from, 1, bytes);
	memset(to, 2, bytes);
	pin(0);
	start = now_s();
	for (long i = 0; i < count; i++) {
		memcpy(to, from, bytes);
		__asm__ volatile("" ::: "memory");
	}
	printf("%.0f\n", bytes * (double)count / (now_s() - start));
	free(from);
	free(to);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "line"))
		return line(atol(argv[2]));
	if (argc == 4 && !strcmp(argv[1], "memcpy"))
		return copy(atol(argv[2]), atol(argv[3]));
	fprintf(stderr, "usage: handover line COUNT | memcpy BYTES COUNT\n");
	return 2;
}
