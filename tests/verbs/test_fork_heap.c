/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fork beside threads that use the heap, of which some pages are registered. A program of its own: malloc has one
 * arena for all threads only if no thread has used another one.
 */
#include "verbs_test.h"

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_bool stop;

#define HEAP_CHUNKS 256

/* Below the heap, as pages are copied in their order: a copy that comes after the fork takes time. */
static char below[16 << 20];

static void *use_one_heap(void *arg)
{
	void *p[64] = { 0 };
	unsigned int seed = (unsigned int)(uintptr_t)arg;

	while (!atomic_load(&stop)) {
		int i = rand_r(&seed) % 64;

		/* Too large for the caches of threads. */
		free(p[i]);
		p[i] = malloc(1100 + (size_t)rand_r(&seed) % 380);
	}
	for (int i = 0; i < 64; i++)
		free(p[i]);
	return NULL;
}

static int use_heap_of_parent(void *arg)
{
	void **chunk = arg;

	alarm(60);
	for (int i = 0; i < HEAP_CHUNKS; i++)
		free(chunk[i]);
	for (int i = 0; i < HEAP_CHUNKS; i++)
		chunk[i] = malloc(1100 + (size_t)i * 16);
	return 0;
}

/*
 * Regions on pages of the heap, among chunks that other threads allocate and free: malloc's lists and the
 * chunks must be of one moment in the child.
 */
static void a_registered_heap_is_whole_in_a_child(void **state)
{
	struct ibv_context *context;
	struct ibv_pd *pd;
	void *chunk[HEAP_CHUNKS], *buf[HEAP_CHUNKS], *gap[HEAP_CHUNKS];
	struct ibv_mr *mr[HEAP_CHUNKS], *large;
	pthread_t threads[2];

	if (*VB_SANITIZE)
		skip(); /* another allocator */
	assert_true(mallopt(M_ARENA_MAX, 1));
	context = test_open("mlx5_0");
	pd = ibv_alloc_pd(context);
	assert_non_null(pd);
	memset(below, 1, sizeof(below));
	large = ibv_reg_mr(pd, below, sizeof(below), IBV_ACCESS_LOCAL_WRITE);
	assert_non_null(large);
	for (int i = 0; i < HEAP_CHUNKS; i++) {
		chunk[i] = malloc(1100);
		gap[i] = malloc(1500);
		buf[i] = malloc(64);
	}
	for (int i = 0; i < HEAP_CHUNKS; i++) {
		mr[i] = ibv_reg_mr(pd, buf[i], 64, IBV_ACCESS_LOCAL_WRITE);
		assert_non_null(mr[i]);
		free(gap[i]);
	}
	atomic_store(&stop, false);
	for (int i = 0; i < 2; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, use_one_heap, (void *)(uintptr_t)(i + 1)),
			0);
	for (int i = 0; i < 40; i++) {
		assert_int_equal(test_in_child(use_heap_of_parent, chunk), 0);
		/* Time to share the memory again. */
		if (i % 2)
			usleep(150000);
	}
	atomic_store(&stop, true);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	for (int i = 0; i < HEAP_CHUNKS; i++)
		assert_int_equal(ibv_dereg_mr(mr[i]), 0);
	assert_int_equal(ibv_dereg_mr(large), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	test_close(context);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_registered_heap_is_whole_in_a_child),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
