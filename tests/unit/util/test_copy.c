/* SPDX-License-Identifier: BSD-2-Clause */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "util/copy.h"

#define EDGE 64u

/* A pattern in which no two neighbouring copies look alike. */
static void fill(uint8_t *p, size_t n, unsigned int seed)
{
	uint32_t x = seed * 2654435761u + 12345;

	for (size_t i = 0; i < n; i++) {
		x = x * 1664525u + 1013904223u;
		p[i] = (uint8_t)(x >> 24);
	}
}

/* Whole pages with an inaccessible one on either side. */
static uint8_t *fenced(size_t bytes)
{
	uint8_t *p = mmap(NULL, bytes + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	assert_int_equal(mprotect(p + 4096, bytes, PROT_READ | PROT_WRITE), 0);
	return p + 4096;
}

static void unfence(uint8_t *p, size_t bytes)
{
	munmap(p - 4096, bytes + 8192);
}

typedef void (*copy_fn)(void *dst, const void *src, size_t n);

static void copy_any(void *dst, const void *src, size_t n)
{
	vb_copy(dst, src, n);
}

static void check_copy(copy_fn copy, uint8_t *room, size_t room_bytes, size_t at,
		       const uint8_t *src, size_t n)
{
	memset(room, 0xa5, room_bytes);
	copy(room + at, src, n);
	assert_memory_equal(room + at, src, n);
	for (size_t i = 0; i < at; i++)
		assert_int_equal(room[i], 0xa5);
	for (size_t i = at + n; i < room_bytes; i++)
		assert_int_equal(room[i], 0xa5);
}

static void check_sizes_and_alignments(size_t least, copy_fn copy)
{
	uint8_t room[1200 + 2 * EDGE], source[1200 + EDGE];
	static const size_t far[] = { 0, 1, 7, 8, 15, 31, 33 };

	fill(source, sizeof(source), 1);
	for (size_t n = least; n <= 290; n++)
		for (size_t at = 0; at < EDGE; at++)
			check_copy(copy, room, n + 2 * EDGE, at, source + far[(n + at) % 7], n);
	for (size_t n = 291; n <= 1200; n += 13)
		for (size_t at = 0; at < EDGE; at += 3)
			check_copy(copy, room, n + 2 * EDGE, at, source + far[(n + at) % 7], n);
}

static void copies_exactly_n_bytes_at_every_alignment(void **state)
{
	check_sizes_and_alignments(0, copy_any);
}

static void copies_exactly_n_bytes_without_wide_vectors(void **state)
{
#if defined(__x86_64__) && !VB_TSAN
	check_sizes_and_alignments(65, vb_copy_sse2);
#else
	skip();
#endif
}

static void touches_nothing_beyond_the_ends(void **state)
{
	uint8_t *dst = fenced(8192), *src = fenced(8192);

	fill(src, 8192, 2);
	for (size_t n = 0; n <= 2000; n++) {
		vb_copy(dst, src, n);
		assert_memory_equal(dst, src, n);
		vb_copy(dst + 8192 - n, src + 8192 - n, n);
		assert_memory_equal(dst + 8192 - n, src + 8192 - n, n);
		vb_copy(dst, src + 8192 - n, n);
		assert_memory_equal(dst, src + 8192 - n, n);
	}
	unfence(dst, 8192);
	unfence(src, 8192);
}

static void large_copies_are_exact(void **state)
{
	static const size_t sizes[] = { 65536,           65537,          (512 << 10) - 1, 512 << 10,
					(512 << 10) + 1, (1 << 20) + 77, (5 << 20) + 333 };
	size_t room = 6 << 20;
	uint8_t *dst = fenced(room), *src = fenced(room);

	fill(src, room, 3);
	for (size_t i = 0; i < array_size(sizes); i++)
		for (size_t at = 0; at < 64; at += 21) {
			memset(dst, 0x5a, sizes[i] + 128);
			vb_copy(dst + at, src + 3, sizes[i]);
			assert_memory_equal(dst + at, src + 3, sizes[i]);
			for (size_t k = 0; k < at; k++)
				assert_int_equal(dst[k], 0x5a);
			assert_int_equal(dst[at + sizes[i]], 0x5a);
		}
	unfence(dst, room);
	unfence(src, room);
}

static void copies_past_the_caches_are_exact(void **state)
{
	size_t n = VB_COPY_STREAM + 12345, room = (n + 8191) & ~(size_t)4095;
	uint8_t *dst = fenced(room), *src = fenced(room);

	fill(src, room, 4);
	for (size_t at = 0; at < 64; at += 31) {
		memset(dst, 0, room);
		vb_copy(dst + at, src + 1, n);
		assert_memory_equal(dst + at, src + 1, n);
		for (size_t k = at + n; k < room; k++)
			assert_int_equal(dst[k], 0);
	}
	unfence(dst, room);
	unfence(src, room);
}

/* ---- what another thread sees ---- */

struct watch {
	_Alignas(64) uint8_t buf[8192];
	_Alignas(64) _Atomic size_t at, n;
	_Atomic uint32_t round; /* the writer begins this one; ~0 ends */
	_Alignas(64) _Atomic uint32_t seen;
	_Atomic uint32_t bad;
};

/* Spins on the last byte, as a latency test does, then looks at all the others. */
static void *watch_last_byte(void *arg)
{
	struct watch *w = arg;

	for (uint32_t round = 1;; round++) {
		uint32_t now;
		uint8_t *buf, want = (uint8_t)(round % 251 + 1);
		size_t n;

		while ((now = atomic_load(&w->round)) < round)
			sched_yield();
		if (now == UINT32_MAX)
			return NULL;
		buf = w->buf + atomic_load(&w->at);
		n = atomic_load(&w->n);
		while (__atomic_load_n(buf + n - 1, __ATOMIC_ACQUIRE) != want)
			;
		for (size_t i = 0; i < n; i++)
			if (buf[i] != want)
				atomic_fetch_add(&w->bad, 1);
		atomic_store(&w->seen, round);
	}
}

static void the_last_byte_shows_last(void **state)
{
	static const size_t sizes[] = { 1,   2,   3,   4,    5,    7,    8,    9,   12,
					15,  16,  17,  24,   31,   32,   33,   63,  64,
					65,  96,  100, 127,  128,  200,  256,  257, 300,
					511, 512, 777, 1024, 2048, 4000, 4096, 6000 };
	static struct watch w;
	uint8_t source[8192];
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, watch_last_byte, &w), 0);
	for (uint32_t round = 1; round <= 4000; round++) {
		size_t n = sizes[round % array_size(sizes)];

		/* A word's store orders nothing for a byte's load, says the thread sanitizer. */
		if (VB_COPY_BYTE_ENDS && (n == 2 || n == 4 || n == 8))
			n++;
		memset(source, (int)(round % 251 + 1), sizeof(source));
		/* So far the buffer holds the last round's value everywhere, or none. */
		memset(w.buf, (int)((round - 1) % 251 + 1), sizeof(w.buf));
		atomic_store(&w.at, round * 7 % 190);
		atomic_store(&w.n, n);
		atomic_store(&w.round, round);
		vb_copy(w.buf + atomic_load(&w.at), source, n);
		while (atomic_load(&w.seen) != round)
			sched_yield();
	}
	atomic_store(&w.round, UINT32_MAX);
	pthread_join(thread, NULL);
	assert_int_equal(atomic_load(&w.bad), 0);
}

/*
 * The order of stores, deterministically: the destination's end lies in a page that cannot be
 * written yet. At the first store to it the handler keeps the bytes in front, opens the page, and returns.
 */
static struct {
	uint8_t *page;
	uint8_t at_fault[8192];
	size_t n;
	volatile int faults;
} gate;

static void open_gate(int sig, siginfo_t *info, void *context)
{
	uint8_t *p = info->si_addr;

	if (p < gate.page - 32 || p >= gate.page + 4096)
		abort();
	memcpy(gate.at_fault, gate.page - gate.n, gate.n);
	gate.faults = gate.faults + 1;
	mprotect(gate.page, 4096, PROT_READ | PROT_WRITE);
}

/* `before` bytes lie in front of the gate, of which `sure` must be there when it is reached. */
static void copy_through_gate(const uint8_t *src, size_t before, size_t after, size_t sure)
{
	memset(gate.page - 4096, 0, 8192);
	gate.n = before;
	gate.faults = 0;
	assert_int_equal(mprotect(gate.page, 4096, PROT_READ), 0);
	vb_copy(gate.page - before, src, before + after);
	assert_int_equal(gate.faults, 1);
	assert_memory_equal(gate.at_fault, src, sure);
	assert_memory_equal(gate.page - before, src, before + after);
}

static void stores_go_upwards_and_the_last_byte_comes_alone(void **state)
{
	struct sigaction action = { .sa_sigaction = open_gate, .sa_flags = SA_SIGINFO }, old;
	uint8_t *room = fenced(8192), source[8192];

	for (size_t i = 0; i < sizeof(source); i++)
		source[i] = (uint8_t)(i % 255 + 1);
	gate.page = room + 4096;
	assert_int_equal(sigaction(SIGSEGV, &action, &old), 0);
	for (size_t before = 1; before < 1200; before++) {
		/* The last byte alone; the last word alone; and anything else, which a vector may
		 * straddle. */
		copy_through_gate(source, before, 1, before);
		copy_through_gate(source, before, 8, before < 32 ? 0 : before - 32);
		copy_through_gate(source, before, 333, before < 32 ? 0 : before - 32);
	}
	for (size_t before = 8; before < 1200; before += 8)
		copy_through_gate(source, before, 8, VB_COPY_BYTE_ENDS ? 0 : before);
	sigaction(SIGSEGV, &old, NULL);
	unfence(room, 8192);
}

struct words {
	_Alignas(64) uint64_t word;
	_Atomic uint32_t stop, torn;
};

static void *watch_word(void *arg)
{
	struct words *w = arg;

	while (!atomic_load_explicit(&w->stop, memory_order_relaxed)) {
		uint64_t v = __atomic_load_n(&w->word, __ATOMIC_ACQUIRE);

		if (v != 0 && v != UINT64_MAX)
			atomic_fetch_add(&w->torn, 1);
	}
	return NULL;
}

static void an_aligned_word_is_never_seen_half_written(void **state)
{
	static struct words w;
	static const uint64_t value[2] = { 0, UINT64_MAX };
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, watch_word, &w), 0);
	for (unsigned int i = 0; i < 200000; i++)
		vb_copy(&w.word, &value[i & 1], 8);
	atomic_store(&w.stop, 1);
	pthread_join(thread, NULL);
	assert_int_equal(atomic_load(&w.torn), 0);
}

static void overlapping_regions_stay_inside_the_destination(void **state)
{
	uint8_t *p = fenced(8192);

	for (size_t n = 1; n < 3000; n += 7)
		for (size_t apart = 1; apart < 100; apart += 9) {
			memset(p, 0x11, 8192);
			vb_copy(p + 1000 + apart, p + 1000, n);
			assert_int_equal(p[999], 0x11);
			assert_int_equal(p[1000 + apart + n], 0x11);
			vb_copy(p + 1000, p + 1000 + apart, n);
		}
	unfence(p, 8192);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_exactly_n_bytes_at_every_alignment),
		cmocka_unit_test(copies_exactly_n_bytes_without_wide_vectors),
		cmocka_unit_test(touches_nothing_beyond_the_ends),
		cmocka_unit_test(large_copies_are_exact),
		cmocka_unit_test(copies_past_the_caches_are_exact),
		cmocka_unit_test(the_last_byte_shows_last),
		cmocka_unit_test(stores_go_upwards_and_the_last_byte_comes_alone),
		cmocka_unit_test(an_aligned_word_is_never_seen_half_written),
		cmocka_unit_test(overlapping_regions_stay_inside_the_destination),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
