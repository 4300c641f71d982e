/* SPDX-License-Identifier: BSD-2-Clause */
/* CRC-32 by table, against the published check value and ISA-L. */
#include <isa-l/crc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "roce/crc_table.h"

static struct roce_crc_table table;
static uint8_t data[4200];

static int fill(void **state)
{
	uint32_t v = 1;

	for (size_t i = 0; i < sizeof(data); i++) {
		v = v * 1103515245 + 12345;
		data[i] = v >> 16;
	}
	roce_crc_table_init(&table);
	return 0;
}

static void the_check_value_is_that_of_crc_32(void **state)
{
	assert_int_equal(roce_crc_table_update(&table, 0, (const uint8_t *)"123456789", 9),
			 0xcbf43926u);
	assert_int_equal(roce_crc_table_update(&table, 0, data, 0), 0);
}

static void every_length_and_alignment_agrees_with_isa_l(void **state)
{
	for (size_t len = 0; len < 200; len++)
		for (size_t at = 0; at < 16; at++)
			assert_int_equal(roce_crc_table_update(&table, len * 77, data + at, len),
					 crc32_gzip_refl(len * 77, data + at, len));
	assert_int_equal(roce_crc_table_update(&table, 0, data, sizeof(data)),
			 crc32_gzip_refl(0, data, sizeof(data)));
}

static void whole_words_agree_with_isa_l(void **state)
{
	for (size_t len = 0; len < 200; len += 4)
		for (size_t at = 0; at < 16; at++)
			assert_int_equal(roce_crc_table_words(&table, len * 77, data + at, len),
					 crc32_gzip_refl(len * 77, data + at, len));
}

static void a_crc_can_be_computed_in_pieces(void **state)
{
	uint32_t whole = roce_crc_table_update(&table, 0, data, 1000);

	for (size_t cut = 0; cut <= 1000; cut += 37)
		assert_int_equal(roce_crc_table_update(&table,
						       roce_crc_table_update(&table, 0, data, cut),
						       data + cut, 1000 - cut),
				 whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_check_value_is_that_of_crc_32),
		cmocka_unit_test(every_length_and_alignment_agrees_with_isa_l),
		cmocka_unit_test(whole_words_agree_with_isa_l),
		cmocka_unit_test(a_crc_can_be_computed_in_pieces),
	};

	return cmocka_run_group_tests(tests, fill, NULL);
}
