/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opening and closing ten thousand times costs nothing that stays. A sanitizer sees a leak sooner.
 */
#include "verbs_test.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CYCLES (strcmp(VB_SANITIZE, "") ? 1000 : 10000)
#define WARM   (CYCLES / 20)

static long resident_kb(void)
{
	long pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%*d %ld", &pages), 1);
	fclose(f);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void cycle(int i)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context;
	struct ibv_port_attr port;
	union ibv_gid gid;

	assert_non_null(list);
	context = ibv_open_device(list[i & 1]);
	ibv_free_device_list(list);
	assert_non_null(context);
	assert_int_equal(ibv_query_port(context, 1, &port), 0);
	assert_int_equal(ibv_query_gid(context, 1, 0, &gid), 0);
	assert_int_equal(ibv_query_gid(context, 7, 0, &gid), -1); /* refusals leak nothing either */
	test_close(context);
}

static void ten_thousand_opens_and_closes_leave_nothing(void **state)
{
	int fds;
	long kb;
	size_t used;

	test_warm_up();
	for (int i = 0; i < WARM; i++)
		cycle(i);
	fds = test_count_fds();
	kb = resident_kb();
	used = mallinfo2().uordblks;
	for (int i = 0; i < CYCLES; i++)
		cycle(i);
	assert_int_equal(test_count_fds(), fds);
	/*
	 * Sanitizers have an allocator of their own (and a quarantine); they find leaks by
	 * themselves. Elsewhere less than a byte per cycle may stay.
	 */
	if (!strcmp(VB_SANITIZE, "")) {
		assert_true(mallinfo2().uordblks <= used + CYCLES / 4);
		assert_true(resident_kb() <= kb + 512);
	}
}

static void a_hundred_contexts_open_at_once_leave_nothing(void **state)
{
	struct ibv_context *contexts[100];
	int fds = test_count_fds();
	size_t used = 0;

	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 100; i++)
			contexts[i] = test_open(i & 1 ? "mlx5_0" : "mlx4_0");
		for (int i = 0; i < 100; i++)
			test_close(contexts[(i * 37) % 100]);
		assert_int_equal(test_count_fds(), fds);
		if (!round)
			used = mallinfo2().uordblks;
	}
	/* What the allocator keeps at hand for the next one counts as used; it fills up, and stops. */
	if (!strcmp(VB_SANITIZE, ""))
		assert_true(mallinfo2().uordblks <= used + 8192);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ten_thousand_opens_and_closes_leave_nothing),
		cmocka_unit_test(a_hundred_contexts_open_at_once_leave_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
