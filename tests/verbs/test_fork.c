/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fork, and several processes with several contexts each.
 */
#include "verbs_test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Exit codes of children: 0 is well, others name the line that was not. */
#define check(condition)                                                                           \
	do {                                                                                       \
		if (!(condition))                                                                  \
			return __LINE__ & 0x7f;                                                    \
	} while (0)

static int query_all(struct ibv_context *context)
{
	struct ibv_device_attr_ex device;
	struct ibv_gid_entry entries[512];
	struct ibv_port_attr port;

	check(!ibv_query_device_ex(context, NULL, &device));
	check(device.orig_attr.vendor_id == 0x02c9);
	check(!ibv_query_port(context, 1, &port));
	check(ibv_query_gid_table(context, entries, 512, 0) > 0);
	check(ibv_query_port(context, 9, &port) == EINVAL);
	return 0;
}

static int open_query_close(void *arg)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context;
	int err;

	check(list);
	for (int i = 0; list[i]; i++) {
		context = ibv_open_device(list[i]);
		check(context);
		err = query_all(context);
		if (err)
			return err;
		check(!ibv_close_device(context));
	}
	ibv_free_device_list(list);
	return 0;
}

static void a_child_opens_and_queries_before_its_parent_ever_did(void **state)
{
	assert_int_equal(test_in_child(open_query_close, NULL), 0);
}

static void a_child_opens_and_queries_beside_its_parents_context(void **state)
{
	struct ibv_context *context = test_open("mlx5_0");

	assert_int_equal(test_in_child(open_query_close, NULL), 0);
	assert_int_equal(query_all(context), 0);
	test_close(context);
}

static int query_inherited(void *arg)
{
	return query_all(arg);
}

static int close_inherited(void *arg)
{
	int err = query_all(arg);

	if (err)
		return err;
	check(!ibv_close_device(arg));
	return open_query_close(NULL);
}

static void a_child_may_query_and_close_what_it_inherited(void **state)
{
	struct ibv_context *context = test_open("mlx5_0");
	int fd = context->async_fd;

	assert_int_equal(test_in_child(query_inherited, context), 0);
	assert_int_equal(test_in_child(close_inherited, context), 0);
	/* What the child closed was its own copy. */
	assert_true(fcntl(fd, F_GETFD) >= 0);
	assert_int_equal(query_all(context), 0);
	assert_false(test_readable(fd, 0));
	test_close(context);
}

static int grandchild(void *arg)
{
	int err = open_query_close(NULL);

	return err ? err : test_in_child(open_query_close, NULL);
}

static void children_of_children_work_as_well(void **state)
{
	struct ibv_context *context = test_open("mlx4_0");

	assert_int_equal(test_in_child(grandchild, NULL), 0);
	test_close(context);
}

static atomic_bool stop;

static void *keep_busy(void *arg)
{
	intptr_t err = 0;

	while (!atomic_load(&stop) && !err)
		err = open_query_close(NULL);
	return (void *)err;
}

/* Locks that a thread holds at the moment of fork must not be held for ever in the child. */
static void fork_amid_calls_of_other_threads_leaves_a_usable_child(void **state)
{
	pthread_t threads[2];
	void *result;

	if (*VB_SANITIZE)
		skip(); /* the locks of a sanitizer's allocator stay locked in the child */
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, keep_busy, NULL), 0);
	for (int i = 0; i < 50; i++)
		assert_int_equal(test_in_child(open_query_close, NULL), 0);
	atomic_store(&stop, true);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(pthread_join(threads[i], &result), 0);
		assert_null(result);
	}
}

#define PROCESSES 8
#define CONTEXTS  6

static int many_contexts(int seed)
{
	struct ibv_context *contexts[CONTEXTS];
	struct ibv_device **list = ibv_get_device_list(NULL);
	int err;

	check(list);
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < CONTEXTS; i++) {
			contexts[i] = ibv_open_device(list[(i + seed) % 2]);
			check(contexts[i]);
		}
		for (int i = 0; i < CONTEXTS; i++) {
			err = query_all(contexts[i]);
			if (err)
				return err;
		}
		for (int i = 0; i < CONTEXTS; i++)
			check(!ibv_close_device(contexts[i]));
	}
	ibv_free_device_list(list);
	return 0;
}

#define CHUNKS 16

/* A thread with an arena of malloc, in which it registers memory, and chunks for children to free. */
struct user_of_heap {
	pthread_t thread;
	struct ibv_pd *pd;
	void *chunk[CHUNKS];
	atomic_bool ready, stop;
};

static void *use_heap(void *arg)
{
	struct user_of_heap *u = arg;
	void *buf = malloc(3000), *p[32] = { 0 }, *apart[CHUNKS];
	struct ibv_mr *mr = ibv_reg_mr(u->pd, buf, 3000, IBV_ACCESS_LOCAL_WRITE);
	unsigned int seed = 1;

	/* Too large for the caches of threads. */
	for (int i = 0; i < CHUNKS; i++) {
		u->chunk[i] = malloc(1200);
		apart[i] = malloc(32);
	}
	atomic_store(&u->ready, true);
	while (!atomic_load(&u->stop)) {
		int i = rand_r(&seed) % 32;

		free(p[i]);
		p[i] = malloc(1100 + rand_r(&seed) % 1000);
	}
	for (int i = 0; i < 32; i++)
		free(p[i]);
	for (int i = 0; i < CHUNKS; i++) {
		free(u->chunk[i]);
		free(apart[i]);
	}
	if (mr)
		ibv_dereg_mr(mr);
	free(buf);
	return mr;
}

static int free_chunks(void *arg)
{
	struct user_of_heap *users = arg;

	alarm(60);
	for (int i = 0; i < 2 * CHUNKS; i++)
		free(users[i % 2].chunk[i / 2]);
	return 0;
}

static void the_heap_of_threads_that_registered_memory_is_whole_in_a_child(void **state)
{
	struct ibv_context *context = test_open("mlx5_0");
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct user_of_heap users[2] = { 0 };
	void *result;

	if (*VB_SANITIZE)
		skip(); /* another allocator */
	for (int i = 0; i < 2; i++) {
		users[i].pd = pd;
		assert_int_equal(pthread_create(&users[i].thread, NULL, use_heap, &users[i]), 0);
		while (!atomic_load(&users[i].ready))
			usleep(100);
	}
	for (int i = 0; i < 200; i++)
		assert_int_equal(test_in_child(free_chunks, users), 0);
	for (int i = 0; i < 2; i++) {
		atomic_store(&users[i].stop, true);
		assert_int_equal(pthread_join(users[i].thread, &result), 0);
		assert_non_null(result);
	}
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	test_close(context);
}

static void several_processes_hold_several_contexts_each(void **state)
{
	pid_t pids[PROCESSES];
	int status;

	for (int i = 0; i < PROCESSES; i++) {
		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (!pids[i])
			_exit(many_contexts(i));
	}
	for (int i = 0; i < PROCESSES; i++) {
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
	}
}

struct identity {
	__be64 guid[2];
	uint16_t lid;
	union ibv_gid gid[2];
};

static void identify(struct identity *id)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	memset(id, 0, sizeof(*id));
	for (int i = 0; i < 2; i++) {
		struct ibv_context *context = ibv_open_device(list[i]);
		struct ibv_port_attr port;

		id->guid[i] = ibv_get_device_guid(list[i]);
		if (!ibv_query_port(context, 1, &port) && port.lid)
			id->lid = port.lid;
		ibv_query_gid(context, 1, 0, &id->gid[i]);
		ibv_close_device(context);
	}
	ibv_free_device_list(list);
}

static int print_identity(void *arg)
{
	struct identity id;

	identify(&id);
	return write(*(int *)arg, &id, sizeof(id)) != sizeof(id);
}

/* Two programs of one host speak of the same adapter: same GUID, LID and GIDs. */
static void every_process_sees_the_same_adapters(void **state)
{
	struct identity mine, its;
	int ends[2];

	identify(&mine);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(test_in_child(print_identity, &ends[1]), 0);
	assert_int_equal(read(ends[0], &its, sizeof(its)), sizeof(its));
	assert_memory_equal(&mine, &its, sizeof(mine));
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_child_opens_and_queries_before_its_parent_ever_did),
		cmocka_unit_test(a_child_opens_and_queries_beside_its_parents_context),
		cmocka_unit_test(a_child_may_query_and_close_what_it_inherited),
		cmocka_unit_test(children_of_children_work_as_well),
		cmocka_unit_test(fork_amid_calls_of_other_threads_leaves_a_usable_child),
		cmocka_unit_test(the_heap_of_threads_that_registered_memory_is_whole_in_a_child),
		cmocka_unit_test(several_processes_hold_several_contexts_each),
		cmocka_unit_test(every_process_sees_the_same_adapters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
