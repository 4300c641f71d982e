/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Litmus tests of what two threads may see of each other, on the code that programs run: store buffering (each side
 * writes, then reads what the other one has written) and message passing. docs/design/memory-order.md has the pairs.
 */
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "driver/record.h"
#include "fabric/barrier.h"
#include "fabric/epoch.h"
#include "fabric/peer.h"

#define ROUNDS  2000000u
#define OBJECTS 64u
#define LOOKS   8u

/* One object is current. The writer replaces it, waits for sections, and marks the old one as freed. */
static struct {
	_Atomic(struct epoch_cell *) cell;
	_Atomic unsigned int current;
	_Atomic bool freed[OBJECTS], done;
	unsigned int used_after_free;
} e;

static void *read_in_sections(void *arg)
{
	for (unsigned int round = 0; round < ROUNDS; round++) {
		unsigned int mine;

		epoch_enter();
		if (!round)
			atomic_store(&e.cell, fabric_thread.epoch.cell);
		mine = atomic_load_explicit(&e.current, memory_order_relaxed);
		for (unsigned int i = 0; i < LOOKS; i++)
			e.used_after_free +=
				atomic_load_explicit(&e.freed[mine], memory_order_relaxed);
		epoch_exit();
	}
	atomic_store(&e.done, true);
	return NULL;
}

static void replace_until_done(void (*barrier)(void))
{
	unsigned int current = 0;

	while (!atomic_load(&e.done)) {
		unsigned int old = current;
		uint64_t open;

		current = (current + 1) % OBJECTS;
		atomic_store_explicit(&e.freed[current], false, memory_order_relaxed);
		atomic_store_explicit(&e.current, current, memory_order_release);
		barrier();
		open = epoch_section_open(e.cell);
		while (open && !epoch_section_over(e.cell, open) && !atomic_load(&e.done))
			sched_yield();
		atomic_store_explicit(&e.freed[old], true, memory_order_relaxed);
	}
}

/* Store buffering: the writer sees the section, or the section sees the new object. */
static void run_sections(void (*barrier)(void))
{
	pthread_t reader;

	memset(&e, 0, sizeof(e));
	assert_int_equal(pthread_create(&reader, NULL, read_in_sections, NULL), 0);
	until(atomic_load(&e.cell));
	replace_until_done(barrier);
	pthread_join(reader, NULL);
	assert_int_equal(e.used_after_free, 0);
}

static void a_section_or_the_change_is_seen_by_membarrier(void **state)
{
	barrier_init();
	if (!barrier_has_private())
		skip();
	run_sections(barrier_private);
}

static void fence(void)
{
	atomic_thread_fence(memory_order_seq_cst);
}

/* As where membarrier() is not allowed. */
static void a_section_or_the_change_is_seen_by_fences(void **state)
{
	epoch_use_fences();
	run_sections(fence);
}

#define SLOTS 64u

static struct {
	uint32_t entry[SLOTS][4];
	uint32_t produced, consumed;
} ring;

static void *produce(void *arg)
{
	for (uint32_t i = 0; i < ROUNDS; i++) {
		for (unsigned int k = 1; i - drv_record_load(&ring.consumed) >= SLOTS; k++)
			if (k % 100 == 0)
				sched_yield();
		for (unsigned int k = 0; k < 4; k++)
			ring.entry[i % SLOTS][k] = i * 4 + k;
		drv_record_store(&ring.produced, i + 1);
	}
	return NULL;
}

static void entries_come_before_the_record_that_hands_them_over(void **state)
{
	pthread_t producer;
	uint32_t i = 0;

	assert_int_equal(pthread_create(&producer, NULL, produce, NULL), 0);
	while (i < ROUNDS) {
		uint32_t end = drv_record_load(&ring.produced);

		if (i == end)
			sched_yield();
		for (; i != end; i++)
			for (unsigned int k = 0; k < 4; k++)
				assert_int_equal(ring.entry[i % SLOTS][k], i * 4 + k);
		drv_record_store(&ring.consumed, i);
	}
	pthread_join(producer, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_come_before_the_record_that_hands_them_over),
		cmocka_unit_test(a_section_or_the_change_is_seen_by_membarrier),
		cmocka_unit_test(a_section_or_the_change_is_seen_by_fences),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
