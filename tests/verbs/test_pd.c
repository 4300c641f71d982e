/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Protection, thread and parent domains: what they refuse, and in which order they may go.
 */
#include "verbs_test.h"

#include <errno.h>
#include <sys/mman.h>

static void domains_of_a_context_have_different_handles(void **state)
{
	FOR_EACH_DEVICE(context)
	{
		struct ibv_pd *one = ibv_alloc_pd(context), *two = ibv_alloc_pd(context);

		assert_non_null(one);
		assert_non_null(two);
		assert_ptr_equal(one->context, context);
		assert_int_not_equal(one->handle, two->handle);
		assert_int_equal(ibv_dealloc_pd(one), 0);
		assert_int_equal(ibv_dealloc_pd(two), 0);
	}
}

static void a_domain_with_a_region_is_busy_and_stays_whole(void **state)
{
	static char page[4096];

	FOR_EACH_DEVICE(context)
	{
		struct ibv_pd *pd = ibv_alloc_pd(context);
		struct ibv_mr *mr = ibv_reg_mr(pd, page, sizeof(page), IBV_ACCESS_LOCAL_WRITE);
		struct ibv_mr *another;

		assert_non_null(mr);
		assert_int_equal(ibv_dealloc_pd(pd), EBUSY);
		another = ibv_reg_mr(pd, page, sizeof(page), 0);
		assert_non_null(another);
		assert_int_equal(ibv_dereg_mr(mr), 0);
		assert_int_equal(ibv_dealloc_pd(pd), EBUSY);
		assert_int_equal(ibv_dereg_mr(another), 0);
		assert_int_equal(ibv_dealloc_pd(pd), 0);
	}
}

static void a_closed_context_lives_until_its_domain_is_deallocated(void **state)
{
	static char page[4096];
	int fds = 0;

	test_warm_up();

	for (int i = -1; i < 2; i++) {
		struct ibv_context *context = test_open(test_devices[i < 0 ? 0 : i]);
		struct ibv_pd *pd = ibv_alloc_pd(context);
		struct ibv_mr *mr;

		assert_int_equal(ibv_close_device(context), 0);
		mr = ibv_reg_mr(pd, page, sizeof(page), 0);
		assert_non_null(mr);
		assert_int_equal(ibv_dereg_mr(mr), 0);
		assert_true(i < 0 || test_count_fds() > fds);
		assert_int_equal(ibv_dealloc_pd(pd), 0);
		/* The first round opens what the process keeps. */
		if (i < 0)
			fds = test_count_fds();
	}
	assert_int_equal(test_count_fds(), fds);
}

static void a_thread_domain_refuses_any_comp_mask(void **state)
{
	FOR_EACH_DEVICE(context)
	{
		struct ibv_td_init_attr attr = { .comp_mask = 1 };

		errno = 0;
		assert_null(ibv_alloc_td(context, &attr));
		assert_int_equal(errno, EINVAL);
	}
}

static void thread_and_protection_domain_outlive_their_parent(void **state)
{
	FOR_EACH_DEVICE(context)
	{
		struct ibv_td_init_attr td_attr = { 0 };
		struct ibv_parent_domain_init_attr attr = { 0 };
		struct ibv_pd *parent;

		attr.pd = ibv_alloc_pd(context);
		attr.td = ibv_alloc_td(context, &td_attr);
		assert_non_null(attr.td);
		parent = ibv_alloc_parent_domain(context, &attr);
		assert_non_null(parent);
		assert_int_equal(parent->handle, attr.pd->handle);

		assert_int_equal(ibv_dealloc_td(attr.td), EBUSY);
		assert_int_equal(ibv_dealloc_pd(attr.pd), EBUSY);
		assert_int_equal(ibv_dealloc_pd(parent), 0);
		assert_int_equal(ibv_dealloc_td(attr.td), 0);
		assert_int_equal(ibv_dealloc_pd(attr.pd), 0);
	}
}

static void a_parent_domain_refuses_unknown_attributes(void **state)
{
	FOR_EACH_DEVICE(context)
	{
		struct ibv_context *other = test_open(test_devices[i_]);
		struct ibv_pd *pd = ibv_alloc_pd(context), *foreign = ibv_alloc_pd(other);
		struct ibv_parent_domain_init_attr attr = { 0 };

		assert_null(ibv_alloc_parent_domain(context, &attr));
		assert_int_equal(errno, EINVAL);
		attr.pd = foreign;
		assert_null(ibv_alloc_parent_domain(context, &attr));
		assert_int_equal(errno, EINVAL);
		attr.pd = pd;
		attr.comp_mask = 1 << 10;
		assert_null(ibv_alloc_parent_domain(context, &attr));
		assert_int_equal(errno, EINVAL);
		/* Nothing was counted for the three. */
		assert_int_equal(ibv_dealloc_pd(pd), 0);
		assert_int_equal(ibv_dealloc_pd(foreign), 0);
		test_close(other);
	}
}

static void objects_of_a_parent_domain_keep_both_domains_busy(void **state)
{
	static char page[4096];

	FOR_EACH_DEVICE(context)
	{
		struct ibv_parent_domain_init_attr attr = { .pd = ibv_alloc_pd(context) };
		struct ibv_pd *parent = ibv_alloc_parent_domain(context, &attr);
		struct ibv_mr *mr = ibv_reg_mr(parent, page, sizeof(page), 0);
		struct ibv_mw *mw = ibv_alloc_mw(parent, IBV_MW_TYPE_1);

		assert_ptr_equal(mr->pd, parent);
		assert_non_null(mw);
		assert_int_equal(ibv_dealloc_pd(parent), EBUSY);
		assert_int_equal(ibv_dereg_mr(mr), 0);
		assert_int_equal(ibv_dealloc_pd(parent), EBUSY);
		assert_int_equal(ibv_dealloc_mw(mw), 0);
		assert_int_equal(ibv_dealloc_pd(attr.pd), EBUSY);
		assert_int_equal(ibv_dealloc_pd(parent), 0);
		assert_int_equal(ibv_dealloc_pd(attr.pd), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(domains_of_a_context_have_different_handles),
		cmocka_unit_test(a_domain_with_a_region_is_busy_and_stays_whole),
		cmocka_unit_test(a_closed_context_lives_until_its_domain_is_deallocated),
		cmocka_unit_test(a_thread_domain_refuses_any_comp_mask),
		cmocka_unit_test(thread_and_protection_domain_outlive_their_parent),
		cmocka_unit_test(a_parent_domain_refuses_unknown_attributes),
		cmocka_unit_test(objects_of_a_parent_domain_keep_both_domains_busy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
