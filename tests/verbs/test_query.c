/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queries: what the adapters answer, and how each call refuses.
 */
#include "verbs_test.h"

#include <endian.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct ibv_context *cx7, *cx3;

static int open_both(void **state)
{
	cx7 = test_open("mlx5_0");
	cx3 = test_open("mlx4_0");
	return 0;
}

static int close_both(void **state)
{
	test_close(cx7);
	test_close(cx3);
	return 0;
}

/* True when every byte is the pattern. */
static bool untouched(const void *p, size_t n, int pattern)
{
	const uint8_t *at = p;

	while (n && *at == (uint8_t)pattern)
		at++, n--;
	return !n;
}

/* ---- the device ---- */

static void a_connectx_6_has_its_ids_and_limits(void **state)
{
	struct ibv_device_attr attr;

	assert_int_equal(ibv_query_device(cx7, &attr), 0);
	assert_string_equal(attr.fw_ver, "28.43.1014");
	assert_int_equal(attr.vendor_id, 0x02c9);
	assert_int_equal(attr.vendor_part_id, 4129);
	assert_int_equal(attr.phys_port_cnt, 1);
	assert_int_equal(attr.max_qp, 131072);
	assert_int_equal(attr.max_qp_wr, 32768);
	assert_int_equal(attr.max_sge, 30);
	assert_int_equal(attr.max_cqe, 4194303);
	assert_int_equal(attr.max_qp_rd_atom, 16);
	assert_int_equal(attr.atomic_cap, IBV_ATOMIC_HCA);
	assert_int_equal(attr.local_ca_ack_delay, 16);
	assert_true(attr.max_mr_size == UINT64_MAX);
	assert_true(attr.node_guid == ibv_get_device_guid(cx7->device));
	assert_true(attr.sys_image_guid == attr.node_guid);
	assert_true(attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B);
	assert_true(attr.device_cap_flags & IBV_DEVICE_XRC);
}

static void a_connectx_3_has_its_ids_and_limits(void **state)
{
	struct ibv_device_attr attr;

	assert_int_equal(ibv_query_device(cx3, &attr), 0);
	assert_string_equal(attr.fw_ver, "2.42.5000");
	assert_int_equal(attr.vendor_id, 0x02c9);
	assert_int_equal(attr.vendor_part_id, 4099);
	assert_int_equal(attr.max_qp_wr, 16351);
	assert_int_equal(attr.max_sge, 32);
	assert_int_equal(attr.max_qp_init_rd_atom, 128);
	assert_int_equal(attr.max_pkeys, 128);
}

static void the_extended_query_agrees_with_the_plain_one(void **state)
{
	struct ibv_context *const both[] = { cx7, cx3 };

	for (int i = 0; i < 2; i++) {
		struct ibv_device_attr_ex ex;
		struct ibv_device_attr plain;

		memset(&ex, 0xa5, sizeof(ex));
		memset(&plain, 0xa5, sizeof(plain));
		assert_int_equal(ibv_query_device(both[i], &plain), 0);
		assert_int_equal(ibv_query_device_ex(both[i], NULL, &ex), 0);
		assert_memory_equal(ex.orig_attr.fw_ver, plain.fw_ver, sizeof(plain.fw_ver));
		assert_memory_equal(&ex.orig_attr.node_guid, &plain.node_guid,
				    offsetof(struct ibv_device_attr, phys_port_cnt) + 1 -
					    offsetof(struct ibv_device_attr, node_guid));
		assert_int_equal(ex.comp_mask, 0);
		assert_int_equal(ex.phys_port_cnt_ex, plain.phys_port_cnt);
		assert_true((ex.device_cap_flags_ex & plain.device_cap_flags) ==
			    plain.device_cap_flags);
		assert_true(ex.hca_core_clock > 0);
		assert_true(ex.completion_timestamp_mask > 0);
	}
}

static void an_unknown_bit_in_the_input_is_refused_and_nothing_written(void **state)
{
	const struct ibv_query_device_ex_input input = { .comp_mask = 1 };
	struct ibv_device_attr_ex ex;

	memset(&ex, 0xa5, sizeof(ex));
	assert_int_equal(ibv_query_device_ex(cx7, &input, &ex), EINVAL);
	/* Past the inline function that checks as well. */
	assert_int_equal(verbs_get_ctx(cx7)->query_device_ex(cx7, &input, &ex, sizeof(ex)), EINVAL);
	assert_true(untouched(&ex, sizeof(ex), 0xa5));
}

static void an_older_and_shorter_struct_is_filled_to_its_end_only(void **state)
{
	const size_t sizes[] = {
		sizeof(struct ibv_device_attr),
		offsetof(struct ibv_device_attr_ex, odp_caps),
		offsetof(struct ibv_device_attr_ex, tso_caps),
		offsetof(struct ibv_device_attr_ex, max_dm_size),
	};
	struct ibv_device_attr_ex whole;

	assert_int_equal(ibv_query_device_ex(cx7, NULL, &whole), 0);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct ibv_device_attr_ex ex;

		memset(&ex, 0xa5, sizeof(ex));
		assert_int_equal(verbs_get_ctx(cx7)->query_device_ex(cx7, NULL, &ex, sizes[i]), 0);
		assert_memory_equal(&ex, &whole, sizes[i]);
		assert_true(untouched((char *)&ex + sizes[i], sizeof(ex) - sizes[i], 0xa5));
	}
}

static void a_newer_and_longer_struct_gets_zeros_for_what_is_unknown(void **state)
{
	struct {
		struct ibv_device_attr_ex ex;
		char news[64];
	} room;

	memset(&room, 0xa5, sizeof(room));
	assert_int_equal(verbs_get_ctx(cx7)->query_device_ex(cx7, NULL, &room.ex, sizeof(room)), 0);
	assert_int_equal(room.ex.orig_attr.vendor_part_id, 4129);
	assert_true(untouched(room.news, sizeof(room.news), 0));
}

static void a_struct_without_room_for_the_basics_is_refused(void **state)
{
	struct ibv_device_attr_ex ex;

	memset(&ex, 0xa5, sizeof(ex));
	assert_int_equal(
		verbs_get_ctx(cx7)->query_device_ex(cx7, NULL, &ex, sizeof(ex.orig_attr) - 1),
		EINVAL);
	assert_int_equal(verbs_get_ctx(cx7)->query_device_ex(cx7, NULL, &ex, 0), EINVAL);
	assert_true(untouched(&ex, sizeof(ex), 0xa5));
}

/* ---- ports ---- */

static void the_ethernet_port_has_the_attributes_of_roce(void **state)
{
	struct ibv_port_attr attr;
	uint64_t speed;

	assert_int_equal(ibv_query_port(cx7, 1, &attr), 0);
	assert_int_equal(attr.link_layer, IBV_LINK_LAYER_ETHERNET);
	assert_int_equal(attr.lid, 0);
	assert_int_equal(attr.gid_tbl_len, 255);
	assert_int_equal(attr.pkey_tbl_len, 1);
	assert_int_equal(attr.max_mtu, IBV_MTU_4096);
	assert_in_range(attr.active_mtu, IBV_MTU_256, IBV_MTU_4096);
	assert_int_equal(attr.max_msg_sz, 1u << 30);
	assert_int_equal(attr.active_width, 2);
	assert_int_equal(attr.active_speed, 128);
	assert_int_equal(attr.flags & IBV_QPF_GRH_REQUIRED, IBV_QPF_GRH_REQUIRED);
	assert_true(attr.port_cap_flags & IBV_PORT_IP_BASED_GIDS);
	assert_int_equal(ibv_query_port_speed(cx7, 1, &speed), 0);
	assert_true(speed == (attr.state == IBV_PORT_ACTIVE ? 4000 : 0));
}

static void the_infiniband_port_has_a_lid_and_asks_for_no_grh(void **state)
{
	struct ibv_port_attr attr;
	uint64_t speed;

	assert_int_equal(ibv_query_port(cx3, 1, &attr), 0);
	assert_int_equal(attr.state, IBV_PORT_ACTIVE);
	assert_int_equal(attr.phys_state, 5);
	assert_int_equal(attr.link_layer, IBV_LINK_LAYER_INFINIBAND);
	assert_in_range(attr.lid, 1, 0xbfff);
	assert_in_range(attr.sm_lid, 1, 0xbfff);
	assert_int_equal(attr.active_mtu, IBV_MTU_4096);
	assert_int_equal(attr.gid_tbl_len, 128);
	assert_int_equal(attr.pkey_tbl_len, 128);
	assert_int_equal(attr.flags & IBV_QPF_GRH_REQUIRED, 0);
	assert_int_equal(ibv_query_port_speed(cx3, 1, &speed), 0);
	assert_true(speed == 560);
}

static void a_port_that_does_not_exist_is_einval_in_every_call(void **state)
{
	static const uint8_t ports[] = { 0, 2, 3, 255 };
	struct ibv_context *const both[] = { cx7, cx3 };

	for (int k = 0; k < 8; k++) {
		struct ibv_context *context = both[k & 1];
		uint8_t port = ports[k / 2];
		enum ibv_gid_type_sysfs type;
		struct ibv_port_attr attr;
		struct ibv_gid_entry entry;
		union ibv_gid gid;
		uint64_t speed = 7;
		__be16 pkey = 0x7777;

		memset(&attr, 0xa5, sizeof(attr));
		memset(&gid, 0xa5, sizeof(gid));
		memset(&entry, 0xa5, sizeof(entry));
		assert_int_equal(ibv_query_port(context, port, &attr), EINVAL);
		assert_int_equal(
			(ibv_query_port)(context, port, (struct _compat_ibv_port_attr *)&attr),
			EINVAL);
		assert_int_equal(ibv_query_port_speed(context, port, &speed), EINVAL);
		assert_int_equal(ibv_query_gid_ex(context, port, 0, &entry, 0), EINVAL);
		errno = 0;
		assert_int_equal(ibv_query_gid(context, port, 0, &gid), -1);
		assert_int_equal(errno, EINVAL);
		errno = 0;
		assert_int_equal(ibv_query_pkey(context, port, 0, &pkey), -1);
		assert_int_equal(errno, EINVAL);
		errno = 0;
		assert_int_equal(ibv_get_pkey_index(context, port, htobe16(0xffff)), -1);
		assert_int_equal(errno, EINVAL);
		errno = 0;
		assert_int_equal(ibv_query_gid_type(context, port, 0, &type), -1);
		assert_int_equal(errno, EINVAL);
		assert_true(untouched(&attr, sizeof(attr), 0xa5));
		assert_true(untouched(&gid, sizeof(gid), 0xa5));
		assert_true(untouched(&entry, sizeof(entry), 0xa5));
		assert_true(speed == 7 && pkey == 0x7777);
	}
}

static void port_numbers_beyond_eight_bits_do_not_wrap(void **state)
{
	struct ibv_gid_entry entry;
	uint64_t speed;

	assert_int_equal(ibv_query_gid_ex(cx7, 257, 0, &entry, 0), EINVAL);
	assert_int_equal(ibv_query_port_speed(cx7, 257, &speed), EINVAL);
}

static void the_old_port_call_writes_the_old_struct_only(void **state)
{
	const size_t old = offsetof(struct ibv_port_attr, port_cap_flags2);
	struct ibv_port_attr attr, whole;

	memset(&attr, 0xa5, sizeof(attr));
	assert_int_equal(ibv_query_port(cx7, 1, &whole), 0);
	assert_int_equal((ibv_query_port)(cx7, 1, (struct _compat_ibv_port_attr *)&attr), 0);
	assert_memory_equal(&attr, &whole, old);
	assert_true(untouched((char *)&attr + old, sizeof(attr) - old, 0xa5));
}

static void a_newer_port_struct_gets_zeros_for_what_is_unknown(void **state)
{
	struct {
		struct ibv_port_attr attr;
		char news[32];
	} room;

	memset(&room, 0xa5, sizeof(room));
	assert_int_equal(verbs_get_ctx(cx7)->query_port(cx7, 1, &room.attr, sizeof(room)), 0);
	assert_int_equal(room.attr.gid_tbl_len, 255);
	assert_true(untouched(room.news, sizeof(room.news), 0));
}

/* ---- GIDs ---- */

static void roce_gids_come_in_pairs_and_the_first_is_link_local(void **state)
{
	struct ibv_gid_entry v1, v2;
	int pairs = 0;

	for (uint32_t i = 0; i + 1 < 255; i += 2) {
		int err = ibv_query_gid_ex(cx7, 1, i, &v1, 0);

		assert_int_equal(ibv_query_gid_ex(cx7, 1, i + 1, &v2, 0), err);
		if (err == ENODATA)
			continue;
		assert_int_equal(err, 0);
		assert_memory_equal(&v1.gid, &v2.gid, sizeof(v1.gid));
		assert_int_equal(v1.gid_type, IBV_GID_TYPE_ROCE_V1);
		assert_int_equal(v2.gid_type, IBV_GID_TYPE_ROCE_V2);
		assert_int_equal(v1.gid_index, i);
		assert_int_equal(v1.port_num, 1);
		assert_int_equal(v1.ndev_ifindex, v2.ndev_ifindex);
		assert_int_not_equal(v1.ndev_ifindex, 0);
		if (!pairs++) {
			assert_int_equal(i, 0);
			assert_int_equal(v1.gid.raw[0], 0xfe);
			assert_int_equal(v1.gid.raw[1], 0x80);
		}
	}
	assert_true(pairs >= 2); /* the link-local pair, and one of an address */
}

static void the_infiniband_gid_is_made_of_the_port_guid(void **state)
{
	uint64_t guid = be64toh(ibv_get_device_guid(cx3->device));
	struct ibv_gid_entry entry;

	assert_int_equal(ibv_query_gid_ex(cx3, 1, 0, &entry, 0), 0);
	assert_int_equal(entry.gid_type, IBV_GID_TYPE_IB);
	assert_int_equal(entry.ndev_ifindex, 0);
	assert_true(be64toh(entry.gid.global.subnet_prefix) == 0xfe80000000000000ull);
	assert_true(be64toh(entry.gid.global.interface_id) == guid + 1);
	assert_int_equal(ibv_query_gid_ex(cx3, 1, 1, &entry, 0), ENODATA);
}

static void every_index_of_the_table_answers_the_plain_query(void **state)
{
	static const union ibv_gid zero;
	struct ibv_gid_entry entry;
	union ibv_gid gid;

	for (int i = 0; i < 255; i++) {
		int err = ibv_query_gid_ex(cx7, 1, i, &entry, 0);

		memset(&gid, 0xa5, sizeof(gid));
		assert_int_equal(ibv_query_gid(cx7, 1, i, &gid), 0);
		assert_memory_equal(&gid, err ? &zero : &entry.gid, sizeof(gid));
	}
}

static void an_index_past_the_table_is_einval(void **state)
{
	static const int indexes[] = { 255, 256, 65536, -1, INT32_MAX, INT32_MIN };

	for (size_t i = 0; i < sizeof(indexes) / sizeof(indexes[0]); i++) {
		enum ibv_gid_type_sysfs type;
		struct ibv_gid_entry entry;
		union ibv_gid gid;

		memset(&entry, 0xa5, sizeof(entry));
		memset(&gid, 0xa5, sizeof(gid));
		errno = 0;
		assert_int_equal(ibv_query_gid(cx7, 1, indexes[i], &gid), -1);
		assert_int_equal(errno, EINVAL);
		errno = 0;
		assert_int_equal(ibv_query_gid_type(cx7, 1, indexes[i], &type), -1);
		assert_int_equal(errno, EINVAL);
		assert_int_equal(ibv_query_gid_ex(cx7, 1, indexes[i], &entry, 0), EINVAL);
		assert_true(untouched(&gid, sizeof(gid), 0xa5));
		assert_true(untouched(&entry, sizeof(entry), 0xa5));
	}
}

static void an_empty_gid_entry_is_enodata_and_writes_nothing(void **state)
{
	struct ibv_gid_entry entry;

	memset(&entry, 0xa5, sizeof(entry));
	assert_int_equal(ibv_query_gid_ex(cx7, 1, 254, &entry, 0), ENODATA);
	assert_true(untouched(&entry, sizeof(entry), 0xa5));
}

static void unknown_flags_of_the_gid_queries_are_refused(void **state)
{
	struct ibv_gid_entry entry;

	memset(&entry, 0xa5, sizeof(entry));
	assert_int_equal(ibv_query_gid_ex(cx7, 1, 0, &entry, 1), EOPNOTSUPP);
	assert_int_equal(ibv_query_gid_table(cx7, &entry, 1, 1), -EOPNOTSUPP);
	assert_true(untouched(&entry, sizeof(entry), 0xa5));
}

static void ibv_query_gid_type_tells_v1_from_v2(void **state)
{
	enum ibv_gid_type_sysfs type;

	assert_int_equal(ibv_query_gid_type(cx7, 1, 0, &type), 0);
	assert_int_equal(type, IBV_GID_TYPE_SYSFS_IB_ROCE_V1);
	assert_int_equal(ibv_query_gid_type(cx7, 1, 1, &type), 0);
	assert_int_equal(type, IBV_GID_TYPE_SYSFS_ROCE_V2);
	assert_int_equal(ibv_query_gid_type(cx3, 1, 0, &type), 0);
	assert_int_equal(type, IBV_GID_TYPE_SYSFS_IB_ROCE_V1);
}

static void the_gid_table_lists_what_the_entries_say(void **state)
{
	struct ibv_gid_entry entries[255], one;
	ssize_t n = ibv_query_gid_table(cx7, entries, 255, 0);

	assert_true(n >= 4);
	for (ssize_t i = 0; i < n; i++) {
		assert_int_equal(ibv_query_gid_ex(cx7, 1, entries[i].gid_index, &one, 0), 0);
		assert_memory_equal(&entries[i], &one, sizeof(one));
		if (i)
			assert_true(entries[i].gid_index > entries[i - 1].gid_index);
	}
	assert_int_equal(ibv_query_gid_table(cx3, entries, 255, 0), 1);
}

static void a_short_gid_table_is_refused_and_nothing_written(void **state)
{
	struct ibv_gid_entry entries[255];
	ssize_t n = ibv_query_gid_table(cx7, entries, 255, 0);

	assert_true(n >= 4);
	memset(entries, 0xa5, sizeof(entries));
	assert_int_equal(ibv_query_gid_table(cx7, entries, n - 1, 0), -EINVAL);
	assert_int_equal(ibv_query_gid_table(cx7, entries, 0, 0), -EINVAL);
	assert_true(untouched(entries, sizeof(entries), 0xa5));
	assert_int_equal(ibv_query_gid_table(cx7, entries, n, 0), n);
	assert_true(untouched(&entries[n], sizeof(entries) - n * sizeof(entries[0]), 0xa5));
}

static void gid_entries_of_a_newer_program_are_spaced_by_its_size(void **state)
{
	struct {
		struct ibv_gid_entry entry;
		char news[8];
	} wide[255];
	struct ibv_gid_entry entries[255];
	ssize_t n = ibv_query_gid_table(cx7, entries, 255, 0);

	memset(wide, 0xa5, sizeof(wide));
	assert_int_equal(_ibv_query_gid_table(cx7, &wide[0].entry, 255, 0, sizeof(wide[0])), n);
	for (ssize_t i = 0; i < n; i++) {
		assert_memory_equal(&wide[i].entry, &entries[i], sizeof(entries[i]));
		assert_true(untouched(wide[i].news, sizeof(wide[i].news), 0));
	}
	assert_int_equal(_ibv_query_gid_table(cx7, entries, 255, 0, sizeof(entries[0]) - 1),
			 -EINVAL);
}

/* ---- P_Keys ---- */

static void the_default_pkey_is_first_and_is_found(void **state)
{
	__be16 pkey;

	assert_int_equal(ibv_query_pkey(cx7, 1, 0, &pkey), 0);
	assert_int_equal(be16toh(pkey), 0xffff);
	assert_int_equal(ibv_get_pkey_index(cx7, 1, htobe16(0xffff)), 0);
	assert_int_equal(ibv_query_pkey(cx3, 1, 0, &pkey), 0);
	assert_int_equal(be16toh(pkey), 0xffff);
	for (int i = 1; i < 128; i++) {
		assert_int_equal(ibv_query_pkey(cx3, 1, i, &pkey), 0);
		assert_int_equal(pkey, 0);
	}
}

static void a_pkey_that_is_not_there_is_not_found(void **state)
{
	errno = 0;
	assert_int_equal(ibv_get_pkey_index(cx7, 1, htobe16(0x8001)), -1);
	assert_int_equal(errno, ENOENT);
}

static void a_pkey_index_past_the_table_is_einval(void **state)
{
	static const struct {
		struct ibv_context **context;
		int index;
	} cases[] = { { &cx7, 1 }, { &cx7, -1 }, { &cx3, 128 }, { &cx3, -1 }, { &cx3, 65536 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		__be16 pkey = 0x7777;

		errno = 0;
		assert_int_equal(ibv_query_pkey(*cases[i].context, 1, cases[i].index, &pkey), -1);
		assert_int_equal(errno, EINVAL);
		assert_int_equal(pkey, 0x7777);
	}
}

/* ---- the clock ---- */

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static uint64_t raw_clock(struct ibv_context *context)
{
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };

	assert_int_equal(ibv_query_rt_values_ex(context, &values), 0);
	assert_int_equal(values.comp_mask, IBV_VALUES_MASK_RAW_CLOCK);
	assert_int_equal(values.raw_clock.tv_sec, 0);
	return values.raw_clock.tv_nsec;
}

/* Each reading lies between two of our clock, which bounds the rate from both sides. */
static void the_raw_clock_moves_at_the_core_clock(void **state)
{
	struct ibv_context *const both[] = { cx7, cx3 };

	for (int i = 0; i < 2; i++) {
		const struct timespec pause = { .tv_nsec = 20000000 };
		struct ibv_device_attr_ex ex;
		uint64_t a0, a1, b0, b1, ticks;
		double khz, slowest, fastest;

		assert_int_equal(ibv_query_device_ex(both[i], NULL, &ex), 0);
		khz = ex.hca_core_clock;
		a0 = now_ns();
		ticks = raw_clock(both[i]);
		a1 = now_ns();
		nanosleep(&pause, NULL); /* any time will do; this much makes the bounds narrow */
		b0 = now_ns();
		ticks = (raw_clock(both[i]) - ticks) & ex.completion_timestamp_mask;
		b1 = now_ns();
		slowest = ticks * 1e6 / (double)(b1 - a0);
		fastest = ticks * 1e6 / (double)(b0 - a1);
		assert_true(slowest <= khz * 1.0001 && khz <= fastest * 1.0001);
	}
}

static void asking_for_no_value_gives_none(void **state)
{
	struct ibv_values_ex values = { .comp_mask = 0, .raw_clock = { 7, 7 } };

	assert_int_equal(ibv_query_rt_values_ex(cx7, &values), 0);
	assert_int_equal(values.comp_mask, 0);
	assert_int_equal(values.raw_clock.tv_nsec, 7);
}

static void asking_for_unknown_values_is_einval(void **state)
{
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK | 1u << 20,
					.raw_clock = { 7, 7 } };

	assert_int_equal(ibv_query_rt_values_ex(cx7, &values), EINVAL);
	assert_int_equal(ibv_query_rt_values_ex(cx3, &values), EINVAL);
	assert_int_equal(values.comp_mask, IBV_VALUES_MASK_RAW_CLOCK | 1u << 20);
	assert_int_equal(values.raw_clock.tv_nsec, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_connectx_6_has_its_ids_and_limits),
		cmocka_unit_test(a_connectx_3_has_its_ids_and_limits),
		cmocka_unit_test(the_extended_query_agrees_with_the_plain_one),
		cmocka_unit_test(an_unknown_bit_in_the_input_is_refused_and_nothing_written),
		cmocka_unit_test(an_older_and_shorter_struct_is_filled_to_its_end_only),
		cmocka_unit_test(a_newer_and_longer_struct_gets_zeros_for_what_is_unknown),
		cmocka_unit_test(a_struct_without_room_for_the_basics_is_refused),
		cmocka_unit_test(the_ethernet_port_has_the_attributes_of_roce),
		cmocka_unit_test(the_infiniband_port_has_a_lid_and_asks_for_no_grh),
		cmocka_unit_test(a_port_that_does_not_exist_is_einval_in_every_call),
		cmocka_unit_test(port_numbers_beyond_eight_bits_do_not_wrap),
		cmocka_unit_test(the_old_port_call_writes_the_old_struct_only),
		cmocka_unit_test(a_newer_port_struct_gets_zeros_for_what_is_unknown),
		cmocka_unit_test(roce_gids_come_in_pairs_and_the_first_is_link_local),
		cmocka_unit_test(the_infiniband_gid_is_made_of_the_port_guid),
		cmocka_unit_test(every_index_of_the_table_answers_the_plain_query),
		cmocka_unit_test(an_index_past_the_table_is_einval),
		cmocka_unit_test(an_empty_gid_entry_is_enodata_and_writes_nothing),
		cmocka_unit_test(unknown_flags_of_the_gid_queries_are_refused),
		cmocka_unit_test(ibv_query_gid_type_tells_v1_from_v2),
		cmocka_unit_test(the_gid_table_lists_what_the_entries_say),
		cmocka_unit_test(a_short_gid_table_is_refused_and_nothing_written),
		cmocka_unit_test(gid_entries_of_a_newer_program_are_spaced_by_its_size),
		cmocka_unit_test(the_default_pkey_is_first_and_is_found),
		cmocka_unit_test(a_pkey_that_is_not_there_is_not_found),
		cmocka_unit_test(a_pkey_index_past_the_table_is_einval),
		cmocka_unit_test(the_raw_clock_moves_at_the_core_clock),
		cmocka_unit_test(asking_for_no_value_gives_none),
		cmocka_unit_test(asking_for_unknown_values_is_einval),
	};

	return cmocka_run_group_tests(tests, open_both, close_both);
}
