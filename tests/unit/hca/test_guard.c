/* SPDX-License-Identifier: BSD-2-Clause */
/* Guards of block signatures, against values that others have published. */
#include "cmocka_all.h"

#include <string.h>

#include "hca/memory/guard.h"

static uint64_t guard_of(enum hca_sig_kind kind, bool ones, const void *data, size_t len)
{
	struct guard g;

	guard_start(&g, kind, ones);
	guard_add(&g, data, len);
	return guard_value(&g);
}

static void the_check_values_of_the_crc_catalogue_come_out(void **state)
{
	const char digits[] = "123456789";

	assert_int_equal(guard_of(HCA_SIG_DIF_CRC, false, digits, 9), 0xd0db);
	assert_int_equal(guard_of(HCA_SIG_CRC32, true, digits, 9), 0xcbf43926);
	assert_int_equal(guard_of(HCA_SIG_CRC32C, true, digits, 9), 0xe3069283);
	assert_int_equal(guard_of(HCA_SIG_CRC64, true, digits, 9), 0xae8b14860a799888);
}

/* SBC-3, annex of the T10 CRC. */
static void the_examples_of_t10_come_out(void **state)
{
	uint8_t data[32];

	memset(data, 0, sizeof(data));
	assert_int_equal(guard_of(HCA_SIG_DIF_CRC, false, data, sizeof(data)), 0);
	memset(data, 0xff, sizeof(data));
	assert_int_equal(guard_of(HCA_SIG_DIF_CRC, false, data, sizeof(data)), 0xa293);
	for (int i = 0; i < 32; i++)
		data[i] = (uint8_t)i;
	assert_int_equal(guard_of(HCA_SIG_DIF_CRC, false, data, sizeof(data)), 0x0224);
	memset(data, 0, sizeof(data));
	data[0] = data[1] = 0xff;
	assert_int_equal(guard_of(HCA_SIG_DIF_CRC, false, data, sizeof(data)), 0x21b8);
}

/* RFC 3720, B.4. */
static void the_examples_of_iscsi_come_out(void **state)
{
	uint8_t data[32];

	memset(data, 0, sizeof(data));
	assert_int_equal(guard_of(HCA_SIG_CRC32C, true, data, sizeof(data)), 0x8a9136aa);
	memset(data, 0xff, sizeof(data));
	assert_int_equal(guard_of(HCA_SIG_CRC32C, true, data, sizeof(data)), 0x62a8ab43);
}

/* RFC 1071, 3. */
static void the_example_of_the_internet_checksum_comes_out(void **state)
{
	const uint8_t data[] = { 0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7 };

	assert_int_equal(guard_of(HCA_SIG_DIF_CSUM, false, data, sizeof(data)), 0x220d);
	assert_int_equal(guard_of(HCA_SIG_DIF_CSUM, true, data, sizeof(data)), 0x220d);
	assert_int_equal(guard_of(HCA_SIG_DIF_CSUM, false, data, 0), 0xffff);
	assert_int_equal(guard_of(HCA_SIG_DIF_CSUM, true, data, 0), 0);
}

/* Zeros with a CRC of zero are no valid block, from whatever value the CRC started. */
static void a_crc_is_inverted_in_the_end_for_both_start_values(void **state)
{
	assert_int_equal(guard_of(HCA_SIG_CRC32, false, "", 0), 0xffffffff);
	assert_int_equal(guard_of(HCA_SIG_CRC32, true, "", 0), 0);
	assert_int_equal(guard_of(HCA_SIG_CRC32C, false, "", 0), 0xffffffff);
	assert_int_equal(guard_of(HCA_SIG_CRC64, false, "", 0), UINT64_MAX);
	assert_int_equal(guard_of(HCA_SIG_CRC64, true, "", 0), 0);
}

static void data_may_come_in_pieces_of_any_size(void **state)
{
	uint8_t data[700];

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 37 + i / 13);
	for (int kind = HCA_SIG_DIF_CRC; kind <= HCA_SIG_CRC64; kind++)
		for (size_t step = 1; step < 300; step += 7) {
			struct guard g;

			guard_start(&g, kind, true);
			for (size_t at = 0; at < sizeof(data); at += step)
				guard_add(&g, data + at,
					  sizeof(data) - at < step ? sizeof(data) - at : step);
			assert_int_equal(guard_value(&g), guard_of(kind, true, data, sizeof(data)));
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_check_values_of_the_crc_catalogue_come_out),
		cmocka_unit_test(the_examples_of_t10_come_out),
		cmocka_unit_test(the_examples_of_iscsi_come_out),
		cmocka_unit_test(the_example_of_the_internet_checksum_comes_out),
		cmocka_unit_test(a_crc_is_inverted_in_the_end_for_both_start_values),
		cmocka_unit_test(data_may_come_in_pieces_of_any_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
