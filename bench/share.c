/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What it costs to share memory, in copies of that memory: the touched and the untouched case, the
 * way back, and a single page. A copy to memory that is in use only moves bytes; a copy to fresh
 * memory also gets its pages from the kernel, as sharing does.
 *
 *	share [MiB]		1024 unless told
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bench.h"
#include "fabric/share.h"

#define ROUNDS 5

/* Of this thread, which never waits: so the machine may be busy otherwise. */
static char *pages(size_t n)
{
	char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		die("mmap");
	return p;
}

static void get(char *p, size_t n)
{
	int err = share_range_get(p, n);

	if (err) {
		fprintf(stderr, "share_range_get: %s\n", strerror(-err));
		exit(1);
	}
}

static void say(const char *what, double seconds, double copy, double fresh)
{
	printf("%-44s %9.2f ms %8.2f %8.2f\n", what, seconds * 1e3, seconds / copy,
	       seconds / fresh);
}

static atomic_bool stop;

/* Its presence alone is what costs: memory must now be moved under its feet. */
static void *sleep_beside(void *arg)
{
	struct timespec nap = { .tv_nsec = 1000000 };

	while (!atomic_load(&stop))
		nanosleep(&nap, NULL);
	return NULL;
}

struct times {
	double in[ROUNDS], out[ROUNDS], touch[ROUNDS], small[ROUNDS];
};

static void measure(struct times *t, char *p, size_t n)
{
	for (int i = 0; i < ROUNDS; i++) {
		double begin = cpu_s();

		get(p, n);
		t->in[i] = cpu_s() - begin;
		begin = cpu_s();
		for (size_t at = 0; at < n; at += 4096)
			p[at]++;
		t->touch[i] = cpu_s() - begin;
		begin = cpu_s();
		share_range_put(p, n);
		t->out[i] = cpu_s() - begin;
		begin = cpu_s();
		for (int k = 0; k < 100; k++) {
			get(p + 4096 * k, 1);
			share_range_put(p + 4096 * k, 1);
		}
		t->small[i] = (cpu_s() - begin) / 100;
	}
}

static void report(const char *threads, struct times *t, double copy, double fresh)
{
	printf("%s\n", threads);
	say("  share, all touched", median(t->in, ROUNDS), copy, fresh);
	say("  touch again, a byte per page", median(t->touch, ROUNDS), copy, fresh);
	say("  make private again", median(t->out, ROUNDS), copy, fresh);
	printf("%-44s %9.2f us\n", "  share a page and make it private again",
	       median(t->small, ROUNDS) * 1e6);
}

int main(int argc, char **argv)
{
	size_t n = (argc > 1 ? strtoul(argv[1], NULL, 0) : 1024) << 20;
	double copy[ROUNDS], fresh[ROUNDS], untouched[ROUNDS], warm, cold;
	char *src, *dst;
	struct times t;
	pthread_t thread;

	if (!n)
		return 2;
	src = pages(n);
	memset(src, 1, n);
	for (int i = 0; i < ROUNDS; i++) {
		double begin;

		dst = pages(n);
		begin = cpu_s();
		memcpy(dst, src, n);
		fresh[i] = cpu_s() - begin;
		begin = cpu_s();
		memcpy(dst, src, n);
		copy[i] = cpu_s() - begin;
		munmap(dst, n);
		dst = pages(n);
		begin = cpu_s();
		get(dst, n);
		untouched[i] = cpu_s() - begin;
		share_range_put(dst, n);
		munmap(dst, n);
	}
	warm = median(copy, ROUNDS);
	cold = median(fresh, ROUNDS);
	printf("%-44s %12s %8s %8s\n", "", "", "copies", "fresh");
	say("memcpy to memory in use", warm, warm, cold);
	say("memcpy to fresh memory", cold, warm, cold);
	say("share, untouched", median(untouched, ROUNDS), warm, cold);
	measure(&t, src, n);
	report("one thread:", &t, warm, cold);
	if (pthread_create(&thread, NULL, sleep_beside, NULL))
		return 1;
	measure(&t, src, n);
	report("beside another thread:", &t, warm, cold);
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	return 0;
}
