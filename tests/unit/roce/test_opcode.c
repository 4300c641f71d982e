/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmocka_all.h"

#include <errno.h>
#include <string.h>

#include "roce/opcode.h"
#include "util/api.h"

/* IBTA vol 1 r1.4, 9.2.1, by hand: header bytes after the BTH. */
static const struct {
	uint8_t op;
	uint8_t extra;
} wire_lengths[] = {
	{ 0x00, 0 },  { 0x03, 4 },  { 0x05, 4 },  { 0x06, 16 }, { 0x07, 0 },  { 0x09, 4 },
	{ 0x0a, 16 }, { 0x0b, 20 }, { 0x0c, 16 }, { 0x0d, 4 },  { 0x0e, 0 },  { 0x0f, 4 },
	{ 0x10, 4 },  { 0x11, 4 },  { 0x12, 12 }, { 0x13, 28 }, { 0x14, 28 }, { 0x16, 4 },
	{ 0x17, 4 },  { 0x24, 0 },  { 0x26, 16 }, { 0x2b, 20 }, { 0x64, 8 },  { 0x65, 12 },
	{ 0xa0, 4 },  { 0xa3, 8 },  { 0xa6, 20 }, { 0xab, 24 }, { 0xac, 20 }, { 0xb0, 4 },
	{ 0xb1, 4 },  { 0xb2, 12 }, { 0xb3, 32 }, { 0xb4, 32 }, { 0xb6, 8 },  { 0x81, 0 },
	{ 0xe0, 20 }, { 0xeb, 40 }, { 0xf1, 4 },  { 0xf3, 48 }, { 0xf7, 24 }, { 0x15, 16 },
	{ 0xb5, 20 }, { 0xf5, 36 },
};

static void headers_have_the_lengths_of_the_specification(void **state)
{
	for (size_t i = 0; i < array_size(wire_lengths); i++) {
		const struct roce_opcode_info *info = roce_opcode_find(wire_lengths[i].op);

		assert_non_null(info);
		assert_int_equal(info->length, ROCE_BTH_BYTES + wire_lengths[i].extra);
	}
}

static void exactly_the_opcodes_of_rc_uc_ud_xrc_dc_and_cnp_are_known(void **state)
{
	unsigned int count[8] = { 0 };

	for (unsigned int op = 0; op < 256; op++)
		if (roce_opcode_find(op))
			count[op >> 5]++;
	assert_int_equal(count[0], 26); /* RC: 0x00 to 0x17; 0x1c and 0x1d */
	assert_int_equal(count[1], 12); /* UC: sends and writes */
	assert_int_equal(count[2], 0);  /* RD */
	assert_int_equal(count[3], 2);  /* UD */
	assert_int_equal(count[4], 1);  /* CNP */
	assert_int_equal(count[5], 26); /* XRC */
	assert_int_equal(count[6], 0);
	assert_int_equal(count[7], 26); /* DC */
	assert_null(roce_opcode_find(0x18));
}

static void codes_of_the_fabric_are_no_opcodes(void **state)
{
	static const uint8_t codes[] = { ROCE_PKT_HELLO, ROCE_PKT_FORWARD,  ROCE_PKT_DC_BEGIN,
					 ROCE_PKT_ETHER, ROCE_PKT_RPC_CALL, ROCE_PKT_RPC_REPLY };

	for (size_t i = 0; i < array_size(codes); i++)
		assert_null(roce_opcode_find(codes[i]));
}

static void message_parts_agree_with_names(void **state)
{
	for (unsigned int op = 0; op < 256; op++) {
		const struct roce_opcode_info *info = roce_opcode_find(op);

		if (!info)
			continue;
		if (strstr(info->name, "FIRST"))
			assert_int_equal(info->part, ROCE_FIRST);
		else if (strstr(info->name, "MIDDLE"))
			assert_int_equal(info->part, 0);
		else if (strstr(info->name, "LAST"))
			assert_int_equal(info->part, ROCE_LAST);
		else
			assert_int_equal(info->part, ROCE_FIRST | ROCE_LAST);
	}
}

static void only_responses_carry_aeth_and_no_response_carries_xrceth(void **state)
{
	for (unsigned int op = 0; op < 256; op++) {
		const struct roce_opcode_info *info = roce_opcode_find(op);

		if (!info || op == ROCE_OP_CNP)
			continue;
		if (info->headers & ROCE_HDR_AETH)
			assert_false(info->request);
		if ((op & ROCE_PKT_TRANSPORT_MASK) == ROCE_TR_XRC)
			assert_int_equal(!!(info->headers & ROCE_HDR_XRCETH), info->request);
		else
			assert_false(info->headers & ROCE_HDR_XRCETH);
	}
}

static void full_payloads_are_path_mtus(void **state)
{
	unsigned int allowed = 0;

	for (uint32_t len = 0; len <= 8192; len++)
		allowed += roce_payload_allowed(ROCE_PAYLOAD_FULL, len);
	assert_int_equal(allowed, 5);
	assert_true(roce_payload_allowed(ROCE_PAYLOAD_FULL, 256));
	assert_true(roce_payload_allowed(ROCE_PAYLOAD_FULL, 4096));
	assert_false(roce_payload_allowed(ROCE_PAYLOAD_SOME, 0));
	assert_true(roce_payload_allowed(ROCE_PAYLOAD_ANY, 0));
	assert_false(roce_payload_allowed(ROCE_PAYLOAD_ANY, 4097));
	assert_false(roce_payload_allowed(ROCE_PAYLOAD_NONE, 1));
}

static void names_are_found_with_and_without_transport(void **state)
{
	bool any;
	uint8_t op;

	assert_int_equal(roce_opcode_parse("UC_WRITE_ONLY", &op, &any), 0);
	assert_int_equal(op, 0x2a);
	assert_false(any);
	assert_int_equal(roce_opcode_parse("read_request", &op, &any), 0);
	assert_int_equal(op, 0x0c);
	assert_true(any);
	assert_int_equal(roce_opcode_parse("CNP", &op, &any), 0);
	assert_int_equal(op, ROCE_OP_CNP);
	assert_int_equal(roce_opcode_parse("SEND", &op, &any), -ENOENT);
	assert_int_equal(roce_opcode_parse("SEND_ONLY_", &op, &any), -ENOENT);
	assert_int_equal(roce_opcode_parse("", &op, &any), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(headers_have_the_lengths_of_the_specification),
		cmocka_unit_test(exactly_the_opcodes_of_rc_uc_ud_xrc_dc_and_cnp_are_known),
		cmocka_unit_test(codes_of_the_fabric_are_no_opcodes),
		cmocka_unit_test(message_parts_agree_with_names),
		cmocka_unit_test(only_responses_carry_aeth_and_no_response_carries_xrceth),
		cmocka_unit_test(full_payloads_are_path_mtus),
		cmocka_unit_test(names_are_found_with_and_without_transport),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
