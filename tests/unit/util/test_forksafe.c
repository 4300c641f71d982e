/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "util/forksafe.h"

static struct guarded {
	pthread_mutex_t lock;
	struct forksafe forksafe;
} inner = { .lock = PTHREAD_MUTEX_INITIALIZER }, outer = { .lock = PTHREAD_MUTEX_INITIALIZER },
  middle = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool is_taken(pthread_mutex_t *lock)
{
	if (pthread_mutex_trylock(lock) == EBUSY)
		return true;
	pthread_mutex_unlock(lock);
	return false;
}

static int add_in_wrong_order(void **state)
{
	forksafe_add(&inner.forksafe, &inner.lock, FORKSAFE_LEAF);
	forksafe_add(&outer.forksafe, &outer.lock, FORKSAFE_CONTEXT);
	forksafe_add(&middle.forksafe, &middle.lock, FORKSAFE_OBJECT);
	return 0;
}

static void every_registered_lock_is_taken_and_released(void **state)
{
	pthread_mutex_t *locks[] = { &inner.lock, &outer.lock, &middle.lock };

	forksafe_lock_all();
	for (size_t i = 0; i < array_size(locks); i++)
		assert_true(is_taken(locks[i]));
	forksafe_unlock_all();
	for (size_t i = 0; i < array_size(locks); i++)
		assert_false(is_taken(locks[i]));
}

static void *lock_and_unlock_all(void *arg)
{
	forksafe_lock_all();
	forksafe_unlock_all();
	return NULL;
}

static void locks_are_taken_by_rank(void **state)
{
	pthread_t thread;

	pthread_mutex_lock(&middle.lock);
	assert_int_equal(pthread_create(&thread, NULL, lock_and_unlock_all, NULL), 0);
	while (!is_taken(&outer.lock))
		sched_yield();
	assert_false(is_taken(&inner.lock));
	pthread_mutex_unlock(&middle.lock);
	pthread_join(thread, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_registered_lock_is_taken_and_released),
		cmocka_unit_test(locks_are_taken_by_rank),
	};

	return cmocka_run_group_tests(tests, add_in_wrong_order, NULL);
}
