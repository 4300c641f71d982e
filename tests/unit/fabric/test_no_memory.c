/* SPDX-License-Identifier: BSD-2-Clause */
/* Allocations that fail: nothing aborts, and the next call tries again. Each test is a process of its own. */
#include "share_common.h"

#include <pthread.h>
#include <sys/resource.h>

#include "fabric/epoch.h"
#include "fabric/fabric.h"
#include "fabric/poll.h"
#include "fabric/poll_set.h"
#include "fabric/state.h"
#include "no_memory.h"

/* ---- threads ---- */

static void *enter_and_leave(void *arg)
{
	no_memory = true;
	epoch_enter();
	epoch_exit();
	no_memory = false;
	return NULL;
}

static void use_sections(void)
{
	pthread_t thread;

	check(!pthread_create(&thread, NULL, enter_and_leave, NULL));
	check(!pthread_join(thread, NULL));
	epoch_wait();
}

static void the_first_section_of_a_thread_needs_no_memory(void **state)
{
	in_child(use_sections);
}

/* ---- links that are polled ---- */

static unsigned int times_in_set(const struct fabric_link *link)
{
	const struct fabric_poll_set *set = atomic_load(&fabric.poll.set);
	unsigned int n = 0;

	for (uint32_t i = 0; i < set->count; i++)
		n += atomic_load(&set->link[i]) == link;
	return n;
}

static void change_poll_set(void)
{
	static char memory[4];
	struct fabric_link *a = (void *)&memory[0], *b = (void *)&memory[1],
			   *c = (void *)&memory[2], *d = (void *)&memory[3];

	check(!fabric_poll_set_add(a) && !fabric_poll_set_add(b) && !fabric_poll_set_add(c));
	no_memory = true;
	check(fabric_poll_set_add(d) == -ENOMEM);
	fabric_poll_set_remove(b);
	no_memory = false;
	check(times_in_set(a) && !times_in_set(b) && times_in_set(c) && !times_in_set(d));
	/* Each once, from the next change on. */
	check(!fabric_poll_set_add(d));
	check(times_in_set(a) == 1 && !times_in_set(b) && times_in_set(c) == 1 &&
	      times_in_set(d) == 1);
	no_memory = true;
	fabric_poll_set_remove(a);
	fabric_poll_set_remove(d);
	fabric_poll_set_remove(c);
	no_memory = false;
	check(atomic_load(&fabric.poll.set)->count == 0);
}

static void the_link_of_a_dead_peer_is_removed_without_memory(void **state)
{
	in_child(change_poll_set);
}

/* ---- what is done once ---- */

/* Address space instead of memory: it is a mapping. */
static void share_late(void)
{
	struct rlimit limit, none;

	/* As in a process that has not forked. */
	atomic_store(&fabric.share, NULL);
	check(!getrlimit(RLIMIT_AS, &limit));
	none = limit;
	none.rlim_cur = 1 << 20;
	check(!setrlimit(RLIMIT_AS, &none));
	check(share_fd() == -1);
	check(!setrlimit(RLIMIT_AS, &limit));
	check(share_fd() >= 0);
}

static void shared_memory_is_tried_again(void **state)
{
	if (*VB_SANITIZE)
		skip(); /* whose own mappings are limited, too */
	in_child(share_late);
}

static void run_threads(unsigned int count)
{
	pthread_t thread;

	for (unsigned int i = 0; i < count; i++) {
		check(!pthread_create(&thread, NULL, enter_and_leave, NULL));
		check(!pthread_join(thread, NULL));
	}
}

static void use_up_all_keys(void)
{
	static pthread_key_t key[4096];
	unsigned int count = 0, cells;

	while (count < 4096 && !pthread_key_create(&key[count], NULL))
		count++;
	check(count && count < 4096);
	run_threads(1);
	while (count)
		check(!pthread_key_delete(key[--count]));
	run_threads(1);
	cells = epoch_area_cells(atomic_load(&fabric.epoch.private));
	run_threads(20);
	check(epoch_area_cells(atomic_load(&fabric.epoch.private)) <= cells);
}

static void cells_of_threads_are_freed_once_there_is_a_key(void **state)
{
	in_child(use_up_all_keys);
}

/* Only this one: of other allocations that fail the caller hears anyway. */
static bool no_atfork;
static unsigned int refused;

int __real_pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void));
int __wrap_pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void));

int __wrap_pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
	if (no_atfork) {
		refused++;
		return ENOMEM;
	}
	return __real_pthread_atfork(prepare, parent, child);
}

static void join_late(void)
{
	const struct fabric_config config = { 0 };
	pid_t pid;
	int status;

	no_atfork = true;
	check(fabric_init(&config) == -ENOMEM);
	no_atfork = false;
	check(refused == 1);
	check(!fabric_init(&config));
	pid = fork();
	if (!pid)
		_exit(fabric_is_up());
	check(waitpid(pid, &status, 0) == pid && !status);
	check(fabric_is_up());
	fabric_fini();
}

static void fork_handlers_are_registered_by_the_next_try(void **state)
{
	in_child(join_late);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_section_of_a_thread_needs_no_memory),
		cmocka_unit_test(the_link_of_a_dead_peer_is_removed_without_memory),
		cmocka_unit_test(shared_memory_is_tried_again),
		cmocka_unit_test(cells_of_threads_are_freed_once_there_is_a_key),
		cmocka_unit_test(fork_handlers_are_registered_by_the_next_try),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
