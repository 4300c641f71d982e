/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names and rates: for every value the answer of Debian's own library, which is loaded beside ours,
 * except where ours is newer.
 */
#include "verbs_test.h"

#include <dlfcn.h>
#include <limits.h>
#include <string.h>

static void *debian;

static int load_debian(void **state)
{
	debian = dlopen(DEBIAN_LIBDIR "/libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!debian)
		print_error("%s\n", dlerror());
	return debian ? 0 : -1;
}

static int unload_debian(void **state)
{
	return dlclose(debian);
}

/* Debian's function of this name; that it is not our own again is checked, too. */
static void *theirs(const char *name, void *ours)
{
	void *fn = dlsym(debian, name);

	assert_non_null(fn);
	assert_ptr_not_equal(fn, ours);
	return fn;
}

#define compare_names(fn, type, ...)                                                               \
	do {                                                                                       \
		const char *(*theirs_fn)(type) = theirs(#fn, (void *)fn);                          \
		static const int newer[] = { INT_MIN, ##__VA_ARGS__ };                             \
                                                                                                   \
		for (int v = -4; v < 600; v++)                                                     \
			if (!listed(newer, sizeof(newer) / sizeof(newer[0]), v))                   \
				assert_string_equal(fn(v), theirs_fn(v));                          \
		assert_string_equal(fn(INT_MAX), "unknown");                                       \
		assert_string_equal(fn(INT_MIN), "unknown");                                       \
	} while (0)

static bool listed(const int *list, size_t n, int value)
{
	while (n--)
		if (list[n] == value)
			return true;
	return false;
}

static void node_types_have_their_names(void **state)
{
	compare_names(ibv_node_type_str, enum ibv_node_type);
}

static void port_states_have_their_names(void **state)
{
	compare_names(ibv_port_state_str, enum ibv_port_state);
}

static void events_have_their_names(void **state)
{
	compare_names(ibv_event_type_str, enum ibv_event_type, IBV_EVENT_DEVICE_SPEED_CHANGE);
	assert_string_equal(ibv_event_type_str(IBV_EVENT_DEVICE_SPEED_CHANGE),
			    "Device link speed change");
}

static void completion_statuses_have_their_names(void **state)
{
	compare_names(ibv_wc_status_str, enum ibv_wc_status);
}

/* Debian's version has no such call. */
static void opcodes_have_their_names(void **state)
{
	static const struct {
		enum ibv_wr_opcode opcode;
		const char *name;
	} names[] = {
		{ IBV_WR_RDMA_WRITE, "rdma-write" },
		{ IBV_WR_RDMA_WRITE_WITH_IMM, "rdma-write-with-imm" },
		{ IBV_WR_SEND, "send" },
		{ IBV_WR_SEND_WITH_IMM, "send-with-imm" },
		{ IBV_WR_RDMA_READ, "rdma-read" },
		{ IBV_WR_ATOMIC_CMP_AND_SWP, "atomic-cmp-and-swp" },
		{ IBV_WR_ATOMIC_FETCH_AND_ADD, "atomic-fetch-and-add" },
		{ IBV_WR_LOCAL_INV, "local-inv" },
		{ IBV_WR_BIND_MW, "bind-mw" },
		{ IBV_WR_SEND_WITH_INV, "send-with-inv" },
		{ IBV_WR_TSO, "tso" },
		{ IBV_WR_DRIVER1, "driver1" },
		{ IBV_WR_FLUSH, "flush" },
		{ IBV_WR_ATOMIC_WRITE, "atomic-write" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_string_equal(ibv_wr_opcode_str(names[i].opcode), names[i].name);
	assert_string_equal(ibv_wr_opcode_str(200), "unknown");
	assert_string_equal(ibv_wr_opcode_str(-1), "unknown");
}

static void every_rate_has_its_multiple_and_its_speed(void **state)
{
	int (*to_mult)(enum ibv_rate) = theirs("ibv_rate_to_mult", (void *)ibv_rate_to_mult);
	int (*to_mbps)(enum ibv_rate) = theirs("ibv_rate_to_mbps", (void *)ibv_rate_to_mbps);

	for (int rate = -4; rate < 300; rate++) {
		assert_int_equal(ibv_rate_to_mult(rate), to_mult(rate));
		assert_int_equal(ibv_rate_to_mbps(rate), to_mbps(rate));
	}
	assert_int_equal(ibv_rate_to_mult(IBV_RATE_2_5_GBPS), 1);
	assert_int_equal(ibv_rate_to_mbps(IBV_RATE_100_GBPS), 103125);
	assert_int_equal(ibv_rate_to_mult(IBV_RATE_MAX), -1);
	assert_int_equal(ibv_rate_to_mbps(IBV_RATE_MAX), -1);
}

static void multiples_and_speeds_lead_back_to_their_rate(void **state)
{
	enum ibv_rate (*from_mult)(int) = theirs("mult_to_ibv_rate", (void *)mult_to_ibv_rate);
	enum ibv_rate (*from_mbps)(int) = theirs("mbps_to_ibv_rate", (void *)mbps_to_ibv_rate);
	int rates = 0;

	for (int mult = -4; mult < 1000; mult++)
		assert_int_equal(mult_to_ibv_rate(mult), from_mult(mult));
	for (int rate = 0; rate < 64; rate++) {
		int mbps = ibv_rate_to_mbps(rate);

		if (mbps < 0)
			continue;
		rates++;
		assert_int_equal(mbps_to_ibv_rate(mbps), rate);
		for (int near = mbps - 2; near <= mbps + 2; near++)
			assert_int_equal(mbps_to_ibv_rate(near), from_mbps(near));
	}
	assert_int_equal(rates, 23);
	assert_int_equal(mbps_to_ibv_rate(-1), IBV_RATE_MAX);
	assert_int_equal(mult_to_ibv_rate(-1), IBV_RATE_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(node_types_have_their_names),
		cmocka_unit_test(port_states_have_their_names),
		cmocka_unit_test(events_have_their_names),
		cmocka_unit_test(completion_statuses_have_their_names),
		cmocka_unit_test(opcodes_have_their_names),
		cmocka_unit_test(every_rate_has_its_multiple_and_its_speed),
		cmocka_unit_test(multiples_and_speeds_lead_back_to_their_rate),
	};

	return cmocka_run_group_tests(tests, load_debian, unload_debian);
}
