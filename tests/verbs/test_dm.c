/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Device memory: sizes, copies and regions as a ConnectX has them.
 */
#include "verbs_test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct ibv_dm *alloc(struct ibv_context *context, size_t length)
{
	struct ibv_alloc_dm_attr attr = { .length = length };

	return ibv_alloc_dm(context, &attr);
}

static int open_mlx5(void **state)
{
	*state = test_open("mlx5_0");
	return 0;
}

static int close_it(void **state)
{
	test_close(*state);
	return 0;
}

static void sizes_and_attributes_out_of_range_are_refused(void **state)
{
	struct ibv_device_attr_ex attr;
	struct ibv_alloc_dm_attr odd = { .length = 64, .comp_mask = 1 };

	assert_int_equal(ibv_query_device_ex(*state, NULL, &attr), 0);
	assert_true(attr.max_dm_size > 0);
	assert_null(alloc(*state, attr.max_dm_size + 1));
	assert_int_equal(errno, EINVAL);
	assert_null(alloc(*state, 0));
	assert_int_equal(errno, EINVAL);
	assert_null(ibv_alloc_dm(*state, &odd));
	assert_int_equal(errno, EINVAL);
	odd = (struct ibv_alloc_dm_attr){ .length = 64, .log_align_req = 40 };
	assert_null(ibv_alloc_dm(*state, &odd));
	assert_int_equal(errno, EINVAL);
}

static void device_memory_can_be_exhausted_and_allocated_again(void **state)
{
	struct ibv_device_attr_ex attr;
	struct ibv_dm *most;

	ibv_query_device_ex(*state, NULL, &attr);
	most = alloc(*state, attr.max_dm_size);
	assert_non_null(most);
	assert_null(alloc(*state, 64));
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(ibv_free_dm(most), 0);
	most = alloc(*state, attr.max_dm_size);
	assert_non_null(most);
	assert_int_equal(ibv_free_dm(most), 0);
}

static void new_device_memory_is_zero_after_reuse(void **state)
{
	uint32_t word = 0x12345678;
	struct ibv_dm *dm = alloc(*state, 64);

	assert_int_equal(ibv_memcpy_to_dm(dm, 8, &word, 4), 0);
	word = 0;
	assert_int_equal(ibv_memcpy_from_dm(&word, dm, 8, 4), 0);
	assert_int_equal(word, 0x12345678);
	assert_int_equal(ibv_free_dm(dm), 0);
	dm = alloc(*state, 64);
	assert_int_equal(ibv_memcpy_from_dm(&word, dm, 8, 4), 0);
	assert_int_equal(word, 0);
	assert_int_equal(ibv_free_dm(dm), 0);
}

static void copies_are_whole_words_inside_the_memory(void **state)
{
	struct ibv_dm *dm = alloc(*state, 100);
	char data[128] = { 0 };

	assert_int_equal(ibv_memcpy_to_dm(dm, 0, data, 100), 0);
	assert_int_equal(ibv_memcpy_to_dm(dm, 2, data, 4), EINVAL);
	assert_int_equal(ibv_memcpy_from_dm(data, dm, 4, 3), EINVAL);
	assert_int_equal(ibv_memcpy_to_dm(dm, 0, data, 104), EFAULT);
	assert_int_equal(ibv_memcpy_from_dm(data, dm, 104, 4), EFAULT);
	assert_int_equal(ibv_memcpy_from_dm(data, dm, -4ull, 8), EFAULT);
	assert_int_equal(ibv_free_dm(dm), 0);
}

static void a_region_counts_from_zero_and_stays_inside(void **state)
{
	struct ibv_pd *pd = ibv_alloc_pd(*state);
	struct ibv_dm *dm = alloc(*state, 128);
	struct ibv_mr *mr;

	assert_null(ibv_reg_dm_mr(pd, dm, 0, 64, IBV_ACCESS_LOCAL_WRITE));
	assert_int_equal(errno, EINVAL);
	assert_null(ibv_reg_dm_mr(pd, dm, 0, 64, IBV_ACCESS_ZERO_BASED | IBV_ACCESS_MW_BIND));
	assert_int_equal(errno, EINVAL);
	assert_null(ibv_reg_dm_mr(pd, dm, 64, 65, IBV_ACCESS_ZERO_BASED));
	assert_int_equal(errno, EINVAL);
	mr = ibv_reg_dm_mr(pd, dm, 64, 64, IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE);
	assert_non_null(mr);
	assert_int_equal(mr->length, 64);
	assert_int_equal(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0),
			 IBV_REREG_MR_ERR_INPUT);

	assert_int_equal(ibv_free_dm(dm), EBUSY);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(ibv_free_dm(dm), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
}

/* Where the kernel has no udmabuf, the call says that it cannot. */
static void a_dmabuf_of_device_memory_is_the_same_memory(void **state)
{
	struct ibv_dm *dm = alloc(*state, 100);
	uint32_t word = 0x12345678, *map;
	int fd;

	assert_non_null(dm);
	errno = 0;
	fd = ibv_dm_export_dmabuf_fd(dm);
	if (fd < 0) {
		assert_int_equal(errno, EOPNOTSUPP);
		assert_int_not_equal(access("/dev/udmabuf", R_OK | W_OK), 0);
		assert_int_equal(ibv_free_dm(dm), 0);
		return;
	}
	map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(map, MAP_FAILED);
	assert_int_equal(ibv_memcpy_to_dm(dm, 8, &word, sizeof(word)), 0);
	assert_int_equal(map[2], word);
	map[3] = 77;
	assert_int_equal(ibv_memcpy_from_dm(&word, dm, 12, sizeof(word)), 0);
	assert_int_equal(word, 77);
	assert_int_equal(ibv_free_dm(dm), 0);
	assert_int_equal(map[3], 77);
	munmap(map, 4096);
	close(fd);
}

static void a_model_without_device_memory_refuses_it(void **state)
{
	struct ibv_context *mlx4 = test_open("mlx4_0");

	assert_null(alloc(mlx4, 64));
	assert_int_equal(errno, EOPNOTSUPP);
	test_close(mlx4);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_mlx5, close_it)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(sizes_and_attributes_out_of_range_are_refused),
		TEST(device_memory_can_be_exhausted_and_allocated_again),
		TEST(new_device_memory_is_zero_after_reuse),
		TEST(copies_are_whole_words_inside_the_memory),
		TEST(a_region_counts_from_zero_and_stays_inside),
		TEST(a_dmabuf_of_device_memory_is_the_same_memory),
		TEST(a_model_without_device_memory_refuses_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
