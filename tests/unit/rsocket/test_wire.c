/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes that rsockets exchange, against the values that rdma-core's have on the wire. */
#include <errno.h>
#include <string.h>

#include "cmocka_all.h"
#include "rsocket/conn_data.h"
#include "rsocket/wire.h"

static void a_message_has_its_kind_in_the_upper_three_bits(void **state)
{
	assert_int_equal(rs_msg(RS_MSG_DATA, 4096), 0x00001000);
	assert_int_equal(rs_msg(RS_MSG_CREDIT, 384), 0x80000180);
	assert_int_equal(rs_msg(RS_MSG_IOMAP, 3), 0xc0000003);
	assert_int_equal(rs_msg(RS_MSG_CTRL, RS_CTRL_DISCONNECT), 0xe0000000);
	assert_int_equal(rs_msg(RS_MSG_CTRL, RS_CTRL_SHUTDOWN), 0xe0000002);
	assert_int_equal(rs_msg_kind(0xe0000002), RS_MSG_CTRL);
	assert_int_equal(rs_msg_value(0xe0000002), RS_CTRL_SHUTDOWN);
}

static void a_value_does_not_reach_into_the_kind(void **state)
{
	assert_int_equal(rs_msg(RS_MSG_DATA, 0xffffffff), 0x1fffffff);
}

static void the_size_of_an_iomap_is_rounded_down_to_what_eight_bits_carry(void **state)
{
	static const struct {
		uint16_t size;
		uint8_t packed;
		uint16_t unpacked;
	} rows[] = {
		{ 0, 0, 0 },
		{ 1, 1, 1 },
		{ 128, 128, 128 },
		{ 129, 128, 128 },
		{ 256, 129, 256 },
		{ 700, 130, 512 },
		{ 0x7f00, 255, 0x7f00 },
		{ 0x8000, 255, 0x7f00 },
		{ 0xffff, 255, 0x7f00 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_int_equal(rs_iomap_size_pack(rows[i].size), rows[i].packed);
		assert_int_equal(rs_iomap_size_unpack(rows[i].packed), rows[i].unpacked);
	}
}

static const struct rs_conn_data data = {
	.credits = 0x0180,
	.iomap_size = 4,
	.target = { .addr = 0x1122334455667788, .key = 0xaabbccdd, .length = 2 },
	.buffer = { .addr = 0x99, .key = 0x01020304, .length = 0x10000 },
};
static const uint8_t bytes[RS_CONN_DATA_LEN] = {
	1,    2,    0x01, 0x80, 0,    0,    0, 4, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66,
	0x77, 0x88, 0xaa, 0xbb, 0xcc, 0xdd, 0, 0, 0,    2,    0,    0,    0,    0,
	0,    0,    0,    0x99, 1,    2,    3, 4, 0,    1,    0,    0,
};

static void connection_data_is_forty_bytes_in_network_order(void **state)
{
	uint8_t encoded[RS_CONN_DATA_LEN];

	rs_conn_data_encode(&data, encoded);
	assert_memory_equal(encoded, bytes, sizeof(bytes));
}

static void connection_data_is_read_back_also_with_padding_behind_it(void **state)
{
	uint8_t padded[56] = { 0 };
	struct rs_conn_data decoded;

	memcpy(padded, bytes, sizeof(bytes));
	assert_int_equal(rs_conn_data_decode(padded, sizeof(padded), &decoded), 0);
	assert_memory_equal(&decoded.target, &data.target, sizeof(data.target));
	assert_memory_equal(&decoded.buffer, &data.buffer, sizeof(data.buffer));
	assert_int_equal(decoded.credits, 0x180);
	assert_int_equal(decoded.iomap_size, 4);
	assert_false(decoded.big_endian);
}

static void a_big_endian_peer_is_recognised_by_a_flag(void **state)
{
	uint8_t from[RS_CONN_DATA_LEN];
	struct rs_conn_data decoded;

	memcpy(from, bytes, sizeof(from));
	from[1] |= 1;
	assert_int_equal(rs_conn_data_decode(from, sizeof(from), &decoded), 0);
	assert_true(decoded.big_endian);
}

static void an_old_peer_without_the_iomap_flag_has_no_iomap(void **state)
{
	uint8_t from[RS_CONN_DATA_LEN];
	struct rs_conn_data decoded;

	memcpy(from, bytes, sizeof(from));
	from[1] = 0;
	assert_int_equal(rs_conn_data_decode(from, sizeof(from), &decoded), 0);
	assert_int_equal(decoded.iomap_size, 0);
}

static void short_data_and_other_versions_are_refused(void **state)
{
	uint8_t from[RS_CONN_DATA_LEN];
	struct rs_conn_data decoded;

	memcpy(from, bytes, sizeof(from));
	assert_int_equal(rs_conn_data_decode(from, sizeof(from) - 1, &decoded), -EPROTONOSUPPORT);
	assert_int_equal(rs_conn_data_decode(NULL, sizeof(from), &decoded), -EPROTONOSUPPORT);
	from[0] = 2;
	assert_int_equal(rs_conn_data_decode(from, sizeof(from), &decoded), -EPROTONOSUPPORT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_message_has_its_kind_in_the_upper_three_bits),
		cmocka_unit_test(a_value_does_not_reach_into_the_kind),
		cmocka_unit_test(the_size_of_an_iomap_is_rounded_down_to_what_eight_bits_carry),
		cmocka_unit_test(connection_data_is_forty_bytes_in_network_order),
		cmocka_unit_test(connection_data_is_read_back_also_with_padding_behind_it),
		cmocka_unit_test(a_big_endian_peer_is_recognised_by_a_flag),
		cmocka_unit_test(an_old_peer_without_the_iomap_flag_has_no_iomap),
		cmocka_unit_test(short_data_and_other_versions_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
