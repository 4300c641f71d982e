/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The device list, opening and closing.
 */
#include "verbs_test.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FDS 1024

static bool inherited[FDS]; /* descriptors that were open before the first call */

static void the_default_list_has_both_adapters_and_a_null_at_its_end(void **state)
{
	int count = -1;
	struct ibv_device **list = ibv_get_device_list(&count);

	assert_non_null(list);
	assert_int_equal(count, 2);
	assert_string_equal(ibv_get_device_name(list[0]), "mlx5_0");
	assert_string_equal(ibv_get_device_name(list[1]), "mlx4_0");
	assert_null(list[2]);
	ibv_free_device_list(list);
}

static void the_count_may_be_left_out(void **state)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	assert_non_null(list);
	assert_non_null(list[1]);
	assert_null(list[2]);
	ibv_free_device_list(list);
}

static void freeing_no_list_is_allowed(void **state)
{
	ibv_free_device_list(NULL);
}

static void a_device_is_the_same_in_every_list(void **state)
{
	struct ibv_device **one = ibv_get_device_list(NULL), **two = ibv_get_device_list(NULL);

	assert_ptr_not_equal(one, two);
	assert_ptr_equal(one[0], two[0]);
	assert_ptr_equal(one[1], two[1]);
	ibv_free_device_list(one);
	ibv_free_device_list(two);
}

static void devices_carry_type_names_and_paths(void **state)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	for (int i = 0; list[i]; i++) {
		char name[64], *tail;

		assert_int_equal(list[i]->node_type, IBV_NODE_CA);
		assert_int_equal(list[i]->transport_type, IBV_TRANSPORT_IB);
		snprintf(name, sizeof(name), "uverbs%d", i);
		assert_string_equal(list[i]->dev_name, name);
		tail = strstr(list[i]->ibdev_path, "/sys/class/infiniband/");
		assert_non_null(tail);
		assert_string_equal(strrchr(tail, '/') + 1, list[i]->name);
		tail = strstr(list[i]->dev_path, "/sys/class/infiniband_verbs/");
		assert_non_null(tail);
		assert_string_equal(strrchr(tail, '/') + 1, name);
	}
	ibv_free_device_list(list);
}

static void indexes_are_those_of_the_facade_and_guids_carry_the_makers_prefix(void **state)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	uint64_t guid5 = be64toh(ibv_get_device_guid(list[0]));
	uint64_t guid4 = be64toh(ibv_get_device_guid(list[1]));

	unsetenv("VERBENA_FACADE");
	assert_int_equal(ibv_get_device_index(list[0]), -1);
	setenv("VERBENA_FACADE", "/none", 1);
	assert_int_equal(ibv_get_device_index(list[0]), 0);
	assert_int_equal(ibv_get_device_index(list[1]), 1);
	unsetenv("VERBENA_FACADE");
	assert_true(guid5 >> 40 == 0xa088c2);
	assert_true(guid4 >> 40 == 0x0002c9);
	ibv_free_device_list(list);
}

static void a_context_outlives_the_list_it_came_from(void **state)
{
	struct ibv_context *context = test_open("mlx5_0"); /* which frees the list */
	struct ibv_device_attr attr;

	assert_string_equal(context->device->name, "mlx5_0");
	assert_int_equal(ibv_query_device(context, &attr), 0);
	test_close(context);
}

static void an_open_context_has_a_descriptor_vectors_and_the_extended_table(void **state)
{
	static const char *const names[] = { "mlx5_0", "mlx4_0" };

	for (int i = 0; i < 2; i++) {
		struct ibv_context *context = test_open(names[i]);

		assert_true(context->async_fd >= 0);
		assert_true(context->num_comp_vectors > 0);
		assert_true(context->abi_compat == (void *)UINTPTR_MAX);
		assert_non_null(verbs_get_ctx(context));
		assert_true(verbs_get_ctx(context)->sz >= 648);
		test_close(context);
	}
}

static void one_device_may_be_open_many_times(void **state)
{
	struct ibv_context *contexts[32];
	struct ibv_device_attr attr;

	for (int i = 0; i < 32; i++) {
		contexts[i] = test_open(i & 1 ? "mlx5_0" : "mlx4_0");
		for (int k = 0; k < i; k++) {
			assert_ptr_not_equal(contexts[i], contexts[k]);
			assert_int_not_equal(contexts[i]->async_fd, contexts[k]->async_fd);
		}
	}
	/* Closing one leaves its neighbours alone. */
	for (int i = 0; i < 32; i += 2)
		test_close(contexts[i]);
	for (int i = 1; i < 32; i += 2) {
		assert_int_equal(ibv_query_device(contexts[i], &attr), 0);
		assert_int_equal(fcntl(contexts[i]->async_fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
		test_close(contexts[i]);
	}
}

static void closing_closes_the_descriptor(void **state)
{
	struct ibv_context *context;
	int fd, before;

	test_warm_up();
	before = test_count_fds();
	context = test_open("mlx5_0");
	fd = context->async_fd;
	test_close(context);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	assert_int_equal(test_count_fds(), before);
}

static void nothing_stays_open_across_exec(void **state)
{
	struct ibv_context *context = test_open("mlx5_0");

	for (int fd = 0; fd < FDS; fd++)
		if (!inherited[fd] && fcntl(fd, F_GETFD) >= 0)
			assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	test_close(context);
}

static void opening_no_device_is_refused(void **state)
{
	errno = 0;
	assert_null(ibv_open_device(NULL));
	assert_int_equal(errno, EINVAL);
}

static void closing_no_context_is_refused(void **state)
{
	errno = 0;
	assert_int_equal(ibv_close_device(NULL), -1);
	assert_int_equal(errno, EINVAL);
}

static void fork_needs_no_preparation(void **state)
{
	assert_int_equal(ibv_fork_init(), 0);
	assert_int_equal(ibv_is_fork_initialized(), IBV_FORK_UNNEEDED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_default_list_has_both_adapters_and_a_null_at_its_end),
		cmocka_unit_test(the_count_may_be_left_out),
		cmocka_unit_test(freeing_no_list_is_allowed),
		cmocka_unit_test(a_device_is_the_same_in_every_list),
		cmocka_unit_test(devices_carry_type_names_and_paths),
		cmocka_unit_test(indexes_are_those_of_the_facade_and_guids_carry_the_makers_prefix),
		cmocka_unit_test(a_context_outlives_the_list_it_came_from),
		cmocka_unit_test(an_open_context_has_a_descriptor_vectors_and_the_extended_table),
		cmocka_unit_test(one_device_may_be_open_many_times),
		cmocka_unit_test(closing_closes_the_descriptor),
		cmocka_unit_test(nothing_stays_open_across_exec),
		cmocka_unit_test(opening_no_device_is_refused),
		cmocka_unit_test(closing_no_context_is_refused),
		cmocka_unit_test(fork_needs_no_preparation),
	};

	for (int fd = 0; fd < FDS; fd++)
		inherited[fd] = fcntl(fd, F_GETFD) >= 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
