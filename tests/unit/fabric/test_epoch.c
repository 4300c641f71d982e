/* SPDX-License-Identifier: BSD-2-Clause */
#include <pthread.h>

#include "fabric/epoch.h"
#include "fabric/peer.h"
#include "util/api.h"
#include "util/futex.h"

struct object {
	struct epoch_node epoch;
	_Atomic bool freed;
};

static void free_object(struct epoch_node *node)
{
	atomic_store(&container_of(node, struct object, epoch)->freed, true);
}

/* A thread that is inside a section, except while the test has told it to leave. */
struct reader {
	pthread_t thread;
	_Atomic bool inside, leave;
};

static void *read_until_told(void *arg)
{
	struct reader *reader = arg;

	epoch_enter();
	atomic_store(&reader->inside, true);
	while (!atomic_load(&reader->leave))
		usleep(50);
	epoch_exit();
	return NULL;
}

static void reader_start(struct reader *reader)
{
	*reader = (struct reader){ 0 };
	assert_int_equal(pthread_create(&reader->thread, NULL, read_until_told, reader), 0);
	until(atomic_load(&reader->inside));
}

static void reader_end(struct reader *reader)
{
	atomic_store(&reader->leave, true);
	pthread_join(reader->thread, NULL);
}

static void an_object_is_freed_at_once_when_no_section_is_open(void **state)
{
	struct object object = { 0 };

	epoch_retire(&object.epoch, free_object);
	assert_true(object.freed);
	assert_false(epoch_reclaim());
}

static void an_object_is_freed_when_the_sections_that_were_open_are_over(void **state)
{
	struct object object = { 0 };
	struct reader before, after;

	reader_start(&before);
	epoch_retire(&object.epoch, free_object);
	assert_true(epoch_reclaim());
	assert_false(object.freed);
	reader_start(&after);
	reader_end(&before);
	assert_false(epoch_reclaim());
	assert_true(object.freed);
	reader_end(&after);
}

static void the_own_section_counts(void **state)
{
	struct object object = { 0 };

	epoch_enter();
	epoch_enter();
	epoch_retire(&object.epoch, free_object);
	epoch_exit();
	assert_true(epoch_reclaim());
	assert_false(object.freed);
	epoch_exit();
	assert_false(epoch_reclaim());
	assert_true(object.freed);
}

static struct object second;

static void free_and_retire(struct epoch_node *node)
{
	free_object(node);
	epoch_retire(&second.epoch, free_object);
}

static void freeing_an_object_may_retire_another(void **state)
{
	struct object object = { 0 };

	second = (struct object){ 0 };
	epoch_retire(&object.epoch, free_and_retire);
	assert_true(object.freed);
	epoch_reclaim();
	assert_true(second.freed);
}

struct waiter {
	pthread_t thread;
	_Atomic bool done;
};

static void *wait_for_sections(void *arg)
{
	struct waiter *waiter = arg;

	epoch_wait();
	atomic_store(&waiter->done, true);
	return NULL;
}

static void waiting_takes_until_the_last_section_is_over(void **state)
{
	struct reader first, last;
	struct waiter waiter = { 0 };

	reader_start(&first);
	reader_start(&last);
	assert_int_equal(pthread_create(&waiter.thread, NULL, wait_for_sections, &waiter), 0);
	reader_end(&first);
	usleep(2000);
	assert_false(waiter.done);
	reader_end(&last);
	pthread_join(waiter.thread, NULL);
	assert_true(waiter.done);
}

static void *enter_and_exit(void *arg)
{
	epoch_enter();
	epoch_exit();
	return NULL;
}

static void cells_of_threads_that_ended_are_used_again(void **state)
{
	for (unsigned int i = 0; i < 2000; i++) {
		pthread_t thread;

		assert_int_equal(pthread_create(&thread, NULL, enter_and_exit, NULL), 0);
		pthread_join(thread, NULL);
	}
	assert_true(epoch_area_cells(atomic_load(&fabric.epoch.private)) < 8);
}

/* ---- many threads ---- */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CROWD 500u
#else
#define CROWD 10000u
#endif
#define CROWD_STACK (64u << 10)

struct crowd {
	_Atomic uint32_t inside, outside;
	_Atomic uint32_t go; /* a futex: 0, 1: leave the section, 2: end */
};

static void wait_for_go(struct crowd *crowd, uint32_t go)
{
	uint32_t now;

	while ((now = atomic_load(&crowd->go)) < go)
		futex_wait(&crowd->go, now, NULL);
}

static void *stay_inside(void *arg)
{
	struct crowd *crowd = arg;

	epoch_enter();
	atomic_fetch_add(&crowd->inside, 1);
	wait_for_go(crowd, 1);
	epoch_exit();
	/* Each thread has a cell of its own: no other one has opened a section in it. */
	if (!(atomic_load(&fabric_thread.epoch.cell->section) & 1))
		atomic_fetch_add(&crowd->outside, 1);
	wait_for_go(crowd, 2);
	return NULL;
}

static uint32_t open_sections(const struct epoch_area *area)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < epoch_area_cells(area); i++)
		n += atomic_load(&area->cell[i].section) & 1;
	return n;
}

static void tell(struct crowd *crowd, uint32_t go)
{
	atomic_store(&crowd->go, go);
	futex_wake_all(&crowd->go);
}

static void ten_thousand_threads_have_sections_at_once(void **state)
{
	static pthread_t thread[CROWD];
	const struct fabric_config config = { 0 };
	struct object object = { 0 };
	struct crowd crowd = { 0 };
	struct epoch_area *area;
	pthread_attr_t attr;
	uint32_t count;

	assert_int_equal(fabric_init(&config), 0);
	area = atomic_load(&fabric.epoch.area);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, CROWD_STACK);
	for (count = 0; count < CROWD; count++)
		if (pthread_create(&thread[count], &attr, stay_inside, &crowd))
			break;
	pthread_attr_destroy(&attr);
	until(atomic_load(&crowd.inside) == count);
	assert_int_equal(open_sections(area), count);
	epoch_retire(&object.epoch, free_object);
	epoch_reclaim();
	assert_false(atomic_load(&object.freed));
	tell(&crowd, 1);
	until(atomic_load(&crowd.outside) == count);
	until((epoch_reclaim(), atomic_load(&object.freed)));
	tell(&crowd, 2);
	for (uint32_t i = 0; i < count; i++)
		pthread_join(thread[i], NULL);
	/* Grace periods are as short as before. */
	assert_true(epoch_area_cells(area) < 8);
	fabric_fini();
	if (count < CROWD) {
		print_message("the system allows %u threads only\n", count);
		skip();
	}
}

static void *end_inside(void *arg)
{
	epoch_enter();
	return NULL;
}

static void a_thread_that_ends_inside_a_section_leaves_it(void **state)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, end_inside, NULL), 0);
	pthread_join(thread, NULL);
	epoch_wait();
	epoch_enter();
	assert_int_equal(fabric_thread.epoch.section % 2, 1);
	epoch_exit();
}

static bool is_marked_in(const struct epoch_area *area)
{
	for (uint32_t i = 0; i < epoch_area_cells(area); i++)
		if (atomic_load(&area->cell[i].section) & 1)
			return true;
	return false;
}

/* Peers see the sections of a process in its segment, also when it has left and come back. */
static void sections_are_marked_in_the_segment_while_there_is_one(void **state)
{
	const struct fabric_config config = { 0 };

	enter_and_exit(NULL);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(fabric_init(&config), 0);
		epoch_enter();
		assert_true(is_marked_in(fabric_segment_epochs(fabric_segment_self())));
		epoch_exit();
		assert_false(is_marked_in(fabric_segment_epochs(fabric_segment_self())));
		fabric_fini();
		epoch_enter();
		assert_true(is_marked_in(atomic_load(&fabric.epoch.private)));
		epoch_exit();
	}
}

static void a_section_that_began_before_the_fabric_was_up_counts(void **state)
{
	const struct fabric_config config = { 0 };
	struct object object = { 0 };
	struct reader reader;

	reader_start(&reader);
	assert_int_equal(fabric_init(&config), 0);
	epoch_retire(&object.epoch, free_object);
	epoch_reclaim();
	assert_false(object.freed);
	reader_end(&reader);
	until((epoch_reclaim(), atomic_load(&object.freed)));
	fabric_fini();
}

static void the_child_of_a_fork_waits_for_no_section_of_its_parent(void **state)
{
	const struct fabric_config config = { 0 };
	struct reader reader;
	int status;
	pid_t pid;

	assert_int_equal(fabric_init(&config), 0);
	reader_start(&reader);
	pid = fork();
	if (!pid) {
		alarm(20);
		epoch_wait();
		epoch_enter();
		epoch_exit();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	reader_end(&reader);
	fabric_fini();
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_object_is_freed_at_once_when_no_section_is_open),
		cmocka_unit_test(an_object_is_freed_when_the_sections_that_were_open_are_over),
		cmocka_unit_test(the_own_section_counts),
		cmocka_unit_test(freeing_an_object_may_retire_another),
		cmocka_unit_test(waiting_takes_until_the_last_section_is_over),
		cmocka_unit_test(cells_of_threads_that_ended_are_used_again),
		cmocka_unit_test(ten_thousand_threads_have_sections_at_once),
		cmocka_unit_test(a_thread_that_ends_inside_a_section_leaves_it),
		cmocka_unit_test(sections_are_marked_in_the_segment_while_there_is_one),
		cmocka_unit_test(a_section_that_began_before_the_fabric_was_up_counts),
		cmocka_unit_test(the_child_of_a_fork_waits_for_no_section_of_its_parent),
	};

	peer_main(argc);
	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
