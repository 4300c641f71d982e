/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How fast frames go from one process to another when nothing is done but that: a ring of slots in
 * shared memory, each with a length and a buffer, into which one process copies frames from its own
 * memory and out of which the other copies them into its own; batches of 32. What memif does.
 *
 *	memif SIZE COUNT	frames per second
 */
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

#define SLOTS  1024u
#define BUFFER 2048u
#define BATCH  32u
#define OWN    512u /* buffers of either process */

struct ring {
	_Alignas(64) _Atomic uint64_t head; /* written by the sender */
	_Alignas(64) _Atomic uint64_t tail; /* by the receiver */
	_Alignas(64) uint32_t len[SLOTS];
	uint8_t data[SLOTS][BUFFER];
};

static uint8_t own[OWN][BUFFER];

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set); /* with one CPU there is nothing to choose */
}

static void spin(void)
{
#ifdef __x86_64__
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("isb" ::: "memory"); /* waits a little; `yield` does nothing on most */
#endif
}

static void send_all(struct ring *r, uint32_t size, uint64_t count)
{
	uint64_t head = 0, tail = 0;

	while (head < count) {
		uint64_t n = count - head < BATCH ? count - head : BATCH;

		while (head + n - tail > SLOTS) {
			/* [B2] pairs with receive_all(): done with slots before they are free */
			tail = atomic_load_explicit(&r->tail, memory_order_acquire);
			if (head + n - tail > SLOTS)
				spin();
		}
		for (uint64_t i = 0; i < n; i++, head++) {
			r->len[head % SLOTS] = size;
			memcpy(r->data[head % SLOTS], own[head % OWN], size);
		}
		/* [B1] pairs with receive_all(): slots before head */
		atomic_store_explicit(&r->head, head, memory_order_release);
	}
}

static void receive_all(struct ring *r, uint64_t count)
{
	uint64_t tail = 0;

	while (tail < count) {
		/* [B1] */
		uint64_t head = atomic_load_explicit(&r->head, memory_order_acquire);

		if (head == tail) {
			spin();
			continue;
		}
		for (; tail < head; tail++)
			memcpy(own[tail % OWN], r->data[tail % SLOTS], r->len[tail % SLOTS]);
		/* [B2] */
		atomic_store_explicit(&r->tail, tail, memory_order_release);
	}
}

int main(int argc, char **argv)
{
	uint32_t size = argc > 1 ? (uint32_t)atoi(argv[1]) : 64;
	uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 0) : 10000000;
	struct ring *r = mmap(NULL, sizeof(*r), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	double began;
	pid_t peer;

	if (r == MAP_FAILED || size > BUFFER || !count)
		return 1;
	memset(own, 1, sizeof(own));
	peer = fork();
	if (peer < 0)
		return 1;
	if (!peer) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pin(0);
		receive_all(r, count);
		_exit(0);
	}
	pin(1);
	began = now_s();
	send_all(r, size, count);
	waitpid(peer, NULL, 0);
	printf("%.0f\n", (double)count / (now_s() - began));
	return 0;
}
