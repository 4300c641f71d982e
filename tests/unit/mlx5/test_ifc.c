/* SPDX-License-Identifier: BSD-2-Clause */
/* The mailbox helpers of mlx5/ifc.h, and the sanity of the tables behind them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "mlx5/ifc.h"
#include "mlx5/ifc_cmd.h"
#include "mlx5/ifc_val.h"

struct field {
	const char *layout;
	const char *name;
	unsigned bit;
	unsigned width;
};

struct layout {
	const char *name;
	unsigned bytes;
};

static const struct field fields[] = {
#define IFC_LEN(layout, bytes)
#define IFC(layout, field, bit, width) { #layout, #field, bit, width },
#include "mlx5/ifc_tables.def"
#undef IFC
#undef IFC_LEN
};

static const struct layout layouts[] = {
#define IFC_LEN(layout, bytes) { #layout, bytes },
#define IFC(layout, field, bit, width)
#include "mlx5/ifc_tables.def"
#undef IFC
#undef IFC_LEN
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct layout *layout_of(const struct field *f)
{
	for (size_t i = 0; i < COUNT(layouts); i++)
		if (!strcmp(layouts[i].name, f->layout))
			return &layouts[i];
	fail_msg("%s has no length", f->layout);
	return NULL;
}

/* The slow and obvious way: one bit at a time. */
static unsigned bit_at(const uint8_t *mailbox, size_t bit)
{
	return mailbox[bit / 8] >> (7 - bit % 8) & 1;
}

static void get_reads_big_endian_words(void **state)
{
	const uint8_t in[16] = { 0x04, 0x00, 0xab, 0xcd, 0, 0, 0x00, 0x01, 0xff, 0x12, 0x34, 0x56 };

	assert_int_equal(ifc_get(in, cmd_in, opcode), IFC_OP_CREATE_CQ);
	assert_int_equal(ifc_get(in, cmd_in, uid), 0xabcd);
	assert_int_equal(ifc_get(in, cmd_in, op_mod), 1);
	assert_int_equal(ifc_get(in, query_cq_in, cqn), 0x123456);
}

static void set_writes_the_bytes_the_device_defines(void **state)
{
	uint8_t out[16] = { 0 };
	uint8_t cqc[64] = { 0 };

	ifc_set(out, create_qp_out, qpn, 0x00abcdef);
	assert_memory_equal(out + 8, "\x00\xab\xcd\xef", 4);

	ifc_set(cqc, cqc, log_cq_size, 22);
	ifc_set(cqc, cqc, uar_page, 0x010203);
	ifc_set(cqc, cqc, dbr_addr, UINT64_C(0x1122334455667788));
	assert_memory_equal(cqc + 0x0c, "\x16\x01\x02\x03", 4);
	assert_memory_equal(cqc + 0x38, "\x11\x22\x33\x44\x55\x66\x77\x88", 8);
}

static void set_leaves_neighbouring_bits_alone(void **state)
{
	uint8_t qpc[232];

	memset(qpc, 0xff, sizeof(qpc));
	ifc_set(qpc, qpc, log_rq_size, 0);
	assert_int_equal(ifc_get(qpc, qpc, log_rq_size), 0);
	assert_int_equal(qpc[9], 0x87);
	for (size_t i = 0; i < sizeof(qpc); i++)
		if (i != 9)
			assert_int_equal(qpc[i], 0xff);

	memset(qpc, 0, sizeof(qpc));
	ifc_set(qpc, qpc, log_rq_size, 0xf);
	assert_int_equal(qpc[9], 0x78);
}

static void set_cuts_values_that_are_too_wide(void **state)
{
	uint8_t in[16] = { 0 };

	ifc_set(in, query_qp_in, qpn, 0xff123456);
	assert_memory_equal(in + 8, "\x00\x12\x34\x56", 4);
}

static void fields_may_cross_words_and_lie_unaligned(void **state)
{
	uint8_t room[64] = { 0 };
	uint8_t *ads = room + 1;

	ifc_set(ads, ads, rmac, UINT64_C(0x0a0b0c0d0e0f));
	assert_memory_equal(ads + 0x26, "\x0a\x0b\x0c\x0d\x0e\x0f", 6);
	assert_int_equal(ifc_get(ads, ads, rmac), UINT64_C(0x0a0b0c0d0e0f));

	ifc_set(ads, ads, tclass, 0xa5);
	assert_memory_equal(ads + 0x0c, "\x0a\x50\x00\x00", 4);
	assert_int_equal(ifc_get(ads, ads, tclass), 0xa5);
}

static void array_elements_follow_each_other(void **state)
{
	uint8_t rqt[0xf0 + 16] = { 0 };

	for (unsigned i = 0; i < 4; i++)
		ifc_set_at(rqt, rqtc, rq_num, i, 0x100 + i);
	assert_memory_equal(rqt + 0xf0, "\0\0\1\0\0\0\1\1\0\0\1\2\0\0\1\3", 16);
	assert_int_equal(ifc_get_at(rqt, rqtc, rq_num, 3), 0x103);
}

static void nested_contexts_are_reached_through_their_address(void **state)
{
	uint8_t in[0x110] = { 0 };
	void *qpc = ifc_ptr(in, create_qp_in, qpc);
	void *path = ifc_ptr(qpc, qpc, primary_address_path);

	ifc_set(path, ads, hop_limit, 64);
	assert_ptr_equal(path, in + 0x18 + 0x18);
	assert_int_equal(in[0x30 + 0x0b], 64);
	assert_int_equal(ifc_size(qpc, primary_address_path), ifc_len(ads));
	assert_int_equal(ifc_end(create_qp_in, qpc), ifc_byte(create_qp_in, wq_umem_offset));
}

static void fits_tells_what_a_field_can_hold(void **state)
{
	assert_true(ifc_fits(cqc, log_cq_size, 31));
	assert_false(ifc_fits(cqc, log_cq_size, 32));
	assert_true(ifc_fits(qpc, no_sq, 1));
	assert_false(ifc_fits(qpc, no_sq, 2));
	assert_true(ifc_fits(mkc, len, UINT64_MAX));
}

static void answer_clears_the_head_and_respects_a_short_mailbox(void **state)
{
	uint8_t out[20];

	memset(out, 0xee, sizeof(out));
	ifc_answer(out, sizeof(out), IFC_STATUS_BAD_PARAM, 0x12345);
	assert_memory_equal(out, "\3\0\0\0\0\1\x23\x45\0\0\0\0\0\0\0\0\xee\xee\xee\xee", 20);

	memset(out, 0xee, sizeof(out));
	ifc_answer(out, 5, IFC_STATUS_BAD_OUTPUT_LEN, 0x12345);
	assert_memory_equal(out, "\x51\0\0\0\0\xee\xee\xee", 8);
	ifc_answer(out, 0, IFC_STATUS_OK, 0);
	assert_int_equal(out[0], 0x51);
}

static void every_width_at_every_bit_keeps_its_value(void **state)
{
	for (unsigned bit = 0; bit < 32; bit++) {
		for (unsigned width = 1; width <= 64; width++) {
			uint64_t mask = width == 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
			uint64_t value = UINT64_C(0x9e3779b97f4a7c15) * (bit * 64 + width);
			uint8_t box[16];

			memset(box, 0xa5, sizeof(box));
			ifc_store(box, bit, width, value);
			assert_int_equal(ifc_load(box, bit, width), value & mask);
			for (unsigned i = 0; i < sizeof(box) * 8; i++) {
				unsigned want = 0xa5 >> (7 - i % 8) & 1;

				if (i >= bit && i < bit + width)
					want = value >> (bit + width - 1 - i) & 1;
				assert_int_equal(bit_at(box, i), want);
			}
		}
	}
}

static void no_two_fields_of_a_layout_overlap(void **state)
{
	for (size_t i = 0; i < COUNT(fields); i++) {
		for (size_t j = i + 1; j < COUNT(fields); j++) {
			const struct field *a = &fields[i], *b = &fields[j];

			if (strcmp(a->layout, b->layout))
				continue;
			if (a->bit < b->bit + b->width && b->bit < a->bit + a->width)
				fail_msg("%s: %s overlaps %s", a->layout, a->name, b->name);
		}
	}
}

/* Arrays and extensions begin where the layout ends; nothing else goes beyond. */
static void every_field_lies_within_its_layout(void **state)
{
	for (size_t i = 0; i < COUNT(fields); i++) {
		const struct field *f = &fields[i];
		unsigned bits = layout_of(f)->bytes * 8;

		if (f->bit + f->width > bits && f->bit != bits)
			fail_msg("%s.%s ends at bit %#x of %#x", f->layout, f->name,
				 f->bit + f->width, bits);
		if (f->width > 64 && (f->bit % 8 || f->width % 8))
			fail_msg("%s.%s is wide but not made of bytes", f->layout, f->name);
	}
}

static void layouts_are_whole_words_and_named_once(void **state)
{
	for (size_t i = 0; i < COUNT(layouts); i++) {
		/* But for one whose data begin within a word. */
		if (strcmp(layouts[i].name, "packet_reformat_context_in"))
			assert_int_equal(layouts[i].bytes % 4, 0);
		for (size_t j = i + 1; j < COUNT(layouts); j++)
			assert_string_not_equal(layouts[i].name, layouts[j].name);
	}
}

static void nested_contexts_have_room_for_their_layout(void **state)
{
#define NESTED(outer, field, inner) assert_int_equal(ifc_size(outer, field), ifc_len(inner))
	NESTED(create_mkey_in, memory_key_mkey_entry, mkc);
	NESTED(create_cq_in, cq_context, cqc);
	NESTED(modify_cq_in, cq_context, cqc);
	NESTED(create_eq_in, eq_context_entry, eqc);
	NESTED(eqe, data, eqe_qp_srq);
	NESTED(create_qp_in, qpc, qpc);
	NESTED(modify_qp_in, qpc, qpc);
	NESTED(modify_qp_in, qpc_data_ext, qpc_ext);
	NESTED(qpc, secondary_address_path, ads);
	NESTED(create_dct_in, dct_context_entry, dctc);
	NESTED(create_srq_in, srq_context_entry, srqc);
	NESTED(create_xrc_srq_in, xrc_srq_context_entry, xrc_srqc);
	NESTED(rqc, wq, wq);
	NESTED(sqc, wq, wq);
	NESTED(rmpc, wq, wq);
	NESTED(xrqc, wq, wq);
	NESTED(create_rq_in, ctx, rqc);
	NESTED(create_sq_in, ctx, sqc);
	NESTED(create_rmp_in, ctx, rmpc);
	NESTED(create_xrq_in, xrq_context, xrqc);
	NESTED(create_rqt_in, rqt_context, rqtc);
	NESTED(create_tir_in, ctx, tirc);
	NESTED(create_tis_in, ctx, tisc);
	NESTED(query_hca_cap_out, capability, cmd_hca_cap);
	NESTED(odp_cap, memory_page_fault_scheme_cap, odp_scheme_cap);
	NESTED(flow_table_nic_cap, flow_table_properties_nic_receive, flow_table_prop_layout);
	NESTED(query_nic_vport_context_out, nic_vport_context, nic_vport_context);
	NESTED(query_hca_vport_context_out, hca_vport_context, hca_vport_context);
	NESTED(set_roce_address_in, roce_address, roce_addr_layout);
	NESTED(query_flow_counter_out, flow_statistics, traffic_counter);
#undef NESTED
}

static void commands_and_statuses_have_names(void **state)
{
	assert_string_equal(ifc_op_name(IFC_OP_2RST_QP), "2RST_QP");
	assert_string_equal(ifc_op_name(0x509), "unknown command");
	assert_string_equal(ifc_status_text(IFC_STATUS_RES_BUSY), "the object is in use");
	assert_string_equal(ifc_status_text(0x77), "unknown status");
}

static void capability_pages_select_current_or_maximal_values(void **state)
{
	assert_int_equal(IFC_CAP_OP_MOD(IFC_CAP_GENERAL_2, 0), 0x40);
	assert_int_equal(IFC_CAP_OP_MOD(IFC_CAP_QOS, 1), 0x19);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(get_reads_big_endian_words),
		cmocka_unit_test(set_writes_the_bytes_the_device_defines),
		cmocka_unit_test(set_leaves_neighbouring_bits_alone),
		cmocka_unit_test(set_cuts_values_that_are_too_wide),
		cmocka_unit_test(fields_may_cross_words_and_lie_unaligned),
		cmocka_unit_test(array_elements_follow_each_other),
		cmocka_unit_test(nested_contexts_are_reached_through_their_address),
		cmocka_unit_test(fits_tells_what_a_field_can_hold),
		cmocka_unit_test(answer_clears_the_head_and_respects_a_short_mailbox),
		cmocka_unit_test(every_width_at_every_bit_keeps_its_value),
		cmocka_unit_test(no_two_fields_of_a_layout_overlap),
		cmocka_unit_test(every_field_lies_within_its_layout),
		cmocka_unit_test(layouts_are_whole_words_and_named_once),
		cmocka_unit_test(nested_contexts_have_room_for_their_layout),
		cmocka_unit_test(commands_and_statuses_have_names),
		cmocka_unit_test(capability_pages_select_current_or_maximal_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
