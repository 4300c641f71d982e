/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vb_copy() against libc's memcpy: GB/s at every relative alignment of source and destination, each
 * as a ratio to the best of its own kind. Distances matter modulo 4096 (that is where loads and
 * stores get mixed up), so both the first 64 bytes in steps of one and the page in steps of 64 are
 * walked. Fails when the worst is below 0.6 of the best.
 *
 *	copy [bytes]		64 KiB unless told
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bench.h"
#include "util/copy.h"

#define SLACK 8192u

static void libc_copy(void *dst, const void *src, size_t n)
{
	memcpy(dst, src, n);
}

static void our_copy(void *dst, const void *src, size_t n)
{
	vb_copy(dst, src, n);
}

/* Best of seven short bursts: the machine may be busy with something else. */
static double speed(void (*volatile copy)(void *, const void *, size_t), char *dst, const char *src,
		    size_t n)
{
	size_t times = (8u << 20) / n + 1;
	double best = 0;

	copy(dst, src, n);
	for (int burst = 0; burst < 7; burst++) {
		double begin = now_s(), rate;

		for (size_t i = 0; i < times; i++)
			copy(dst, src, n);
		rate = (double)times * (double)n / (now_s() - begin) * 1e-9;
		if (rate > best)
			best = rate;
	}
	return best;
}

static char *pages(size_t n)
{
	char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	memset(p, 1, n);
	return p;
}

int main(int argc, char **argv)
{
	size_t n = argc > 1 ? strtoul(argv[1], NULL, 0) : 64 << 10;
	unsigned int distance[128], count = 0;
	double ours[128], libc[128], best_ours = 0, best_libc = 0, worst = 1, against = 1e9;
	char *dst, *src;

	if (!n)
		return 2;
	dst = pages(n + SLACK);
	src = pages(n + SLACK);
	for (unsigned int d = 0; d < 64; d++)
		distance[count++] = d;
	for (unsigned int d = 64; d < 4096; d += 64)
		distance[count++] = d;
	for (unsigned int i = 0; i < count; i++) {
		libc[i] = speed(libc_copy, dst + distance[i], src, n);
		ours[i] = speed(our_copy, dst + distance[i], src, n);
		if (libc[i] > best_libc)
			best_libc = libc[i];
		if (ours[i] > best_ours)
			best_ours = ours[i];
	}
	printf("%zu bytes\n%10s %18s %18s\n", n, "dst-src", "memcpy GB/s ratio",
	       "vb_copy GB/s ratio");
	for (unsigned int i = 0; i < count; i++) {
		printf("%10u %11.1f %6.2f %11.1f %6.2f\n", distance[i], libc[i],
		       libc[i] / best_libc, ours[i], ours[i] / best_ours);
		if (ours[i] / best_ours < worst)
			worst = ours[i] / best_ours;
		if (ours[i] / libc[i] < against)
			against = ours[i] / libc[i];
	}
	printf("best: memcpy %.1f, vb_copy %.1f GB/s (%.2f)\n", best_libc, best_ours,
	       best_ours / best_libc);
	printf("worst alignment of vb_copy: %.2f of its best; least against memcpy at one "
	       "alignment: "
	       "%.2f\n",
	       worst, against);
	return worst < 0.6;
}
