/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Importing contexts by their descriptor, and objects by their handle.
 */
#include "verbs_test.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static struct ibv_context *import(const struct ibv_context *of)
{
	struct ibv_context *context = ibv_import_device(dup(of->cmd_fd));

	assert_non_null(context);
	return context;
}

static void a_context_is_known_by_its_descriptor(void **state)
{
	struct ibv_context *one = test_open("mlx5_0"), *two = test_open("mlx4_0");
	struct ibv_context *again = import(two);

	assert_ptr_equal(again->device, two->device);
	assert_ptr_not_equal(again, two);
	assert_int_not_equal(again->async_fd, two->async_fd);
	test_close(again);
	test_close(one);
	test_close(two);
}

static void descriptors_of_something_else_are_refused_and_left_open(void **state)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_null(ibv_import_device(fd));
	assert_int_equal(errno, ENODEV);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
	fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	assert_null(ibv_import_device(fd));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
	assert_null(ibv_import_device(fd));
	assert_int_equal(errno, EINVAL);
}

static void closing_gives_back_every_descriptor(void **state)
{
	struct ibv_context *context, *imported;
	int fds;

	test_warm_up();
	context = test_open("mlx5_0");
	fds = test_count_fds();
	imported = import(context);
	test_close(context);
	test_close(imported);
	context = test_open("mlx5_0");
	assert_int_equal(test_count_fds(), fds);
	test_close(context);
}

static void a_domain_and_its_regions_are_found_by_handle(void **state)
{
	static char page[4096];
	struct ibv_context *context = test_open("mlx5_0"), *imported = import(context);
	struct ibv_pd *pd = ibv_alloc_pd(context), *pd2 = ibv_import_pd(imported, pd->handle);
	struct ibv_mr *mr = ibv_reg_mr(pd, page, sizeof(page), IBV_ACCESS_LOCAL_WRITE), *mr2;

	assert_non_null(pd2);
	assert_ptr_equal(pd2->context, imported);
	assert_int_equal(pd2->handle, pd->handle);
	mr2 = ibv_import_mr(pd2, mr->handle);
	assert_non_null(mr2);
	assert_null(mr2->addr);
	assert_int_equal(mr2->length, sizeof(page));
	assert_int_equal(mr2->lkey, mr->lkey);
	assert_int_equal(mr2->rkey, mr->rkey);

	ibv_unimport_mr(mr2);
	ibv_unimport_pd(pd2);
	assert_int_equal(ibv_dealloc_pd(pd), EBUSY);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	test_close(imported);
	test_close(context);
}

static void handles_of_other_contexts_and_destroyed_objects_are_unknown(void **state)
{
	static char page[4096];
	struct ibv_context *context = test_open("mlx5_0"), *other = test_open("mlx5_0");
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_mr *mr = ibv_reg_mr(pd, page, sizeof(page), 0);
	uint32_t handle = mr->handle;

	assert_null(ibv_import_pd(other, pd->handle));
	assert_int_equal(errno, ENOENT);
	assert_null(ibv_import_dm(context, 4711));
	assert_int_equal(errno, ENOENT);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_null(ibv_import_mr(pd, handle));
	assert_int_equal(errno, ENOENT);
	handle = pd->handle;
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	assert_null(ibv_import_pd(context, handle));
	assert_int_equal(errno, ENOENT);
	test_close(context);
	test_close(other);
}

static void an_object_destroyed_through_an_import_is_then_unimported_by_the_original(void **state)
{
	static char page[4096];
	struct ibv_context *context = test_open("mlx5_0"), *imported = import(context);
	struct ibv_pd *pd = ibv_alloc_pd(context), *pd2 = ibv_import_pd(imported, pd->handle);
	struct ibv_mr *mr = ibv_reg_mr(pd, page, sizeof(page), 0);
	struct ibv_mr *mr2 = ibv_import_mr(pd2, mr->handle);
	uint32_t handle = pd->handle;

	assert_int_equal(ibv_dereg_mr(mr2), 0);
	assert_int_equal(ibv_dereg_mr(mr), ENOENT);
	ibv_unimport_mr(mr);
	assert_int_equal(ibv_dealloc_pd(pd2), 0);
	assert_int_equal(ibv_dealloc_pd(pd), ENOENT);
	ibv_unimport_pd(pd);
	assert_null(ibv_import_pd(context, handle));
	test_close(context);
	test_close(imported);
}

static void closing_the_original_first_leaves_the_import_working(void **state)
{
	static char page[4096];
	struct ibv_context *context = test_open("mlx5_0"), *imported = import(context);
	struct ibv_pd *pd = ibv_alloc_pd(context), *pd2 = ibv_import_pd(imported, pd->handle);
	struct ibv_mr *mr;

	test_close(context);
	mr = ibv_reg_mr(pd2, page, sizeof(page), 0);
	assert_non_null(mr);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	ibv_unimport_pd(pd2);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	test_close(imported);
}

static void device_memory_is_the_same_memory(void **state)
{
	struct ibv_alloc_dm_attr attr = { .length = 64 };
	struct ibv_context *context = test_open("mlx5_0"), *imported = import(context);
	struct ibv_dm *dm = ibv_alloc_dm(context, &attr), *dm2;
	uint32_t word = 77;

	dm2 = ibv_import_dm(imported, dm->handle);
	assert_non_null(dm2);
	assert_int_equal(ibv_memcpy_to_dm(dm, 60, &word, 4), 0);
	word = 0;
	assert_int_equal(ibv_memcpy_from_dm(&word, dm2, 60, 4), 0);
	assert_int_equal(word, 77);
	ibv_unimport_dm(dm2);
	dm2 = ibv_import_dm(imported, dm->handle);
	assert_int_equal(ibv_free_dm(dm2), 0);
	/* The original is a shell now. */
	assert_int_equal(ibv_memcpy_from_dm(&word, dm, 0, 4), EFAULT);
	assert_int_equal(ibv_free_dm(dm), ENOENT);
	ibv_unimport_dm(dm);
	test_close(imported);
	test_close(context);
}

static int import_in_child(void *arg)
{
	struct ibv_context *context = ibv_import_device(dup(*(int *)arg));

	return !context || ibv_close_device(context);
}

static void a_process_that_only_has_the_descriptor_opens_the_same_device(void **state)
{
	struct ibv_context *context = test_open("mlx5_0");
	int fd = dup(context->cmd_fd);

	test_close(context);
	assert_int_equal(test_in_child(import_in_child, &fd), 0);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_context_is_known_by_its_descriptor),
		cmocka_unit_test(descriptors_of_something_else_are_refused_and_left_open),
		cmocka_unit_test(closing_gives_back_every_descriptor),
		cmocka_unit_test(a_domain_and_its_regions_are_found_by_handle),
		cmocka_unit_test(handles_of_other_contexts_and_destroyed_objects_are_unknown),
		cmocka_unit_test(
			an_object_destroyed_through_an_import_is_then_unimported_by_the_original),
		cmocka_unit_test(closing_the_original_first_leaves_the_import_working),
		cmocka_unit_test(device_memory_is_the_same_memory),
		cmocka_unit_test(a_process_that_only_has_the_descriptor_opens_the_same_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
