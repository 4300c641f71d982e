/* SPDX-License-Identifier: BSD-2-Clause */
/* CRC-32 of short data by carry-less multiplication, against ISA-L. */
#include <isa-l/crc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "roce/crc_clmul.h"

static uint8_t data[ROCE_CRC_CLMUL_MAX + 16];

static int fill(void **state)
{
	uint32_t v = 1;

	for (size_t i = 0; i < sizeof(data); i++) {
		v = v * 1103515245 + 12345;
		data[i] = v >> 16;
	}
	return 0;
}

static void need_instruction(void)
{
	if (!roce_crc_clmul_supported()) {
		print_message("the processor has no carry-less multiplication\n");
		skip();
	}
}

static void every_length_and_alignment_agrees_with_isa_l(void **state)
{
	need_instruction();
	for (size_t len = 4; len <= ROCE_CRC_CLMUL_MAX; len += 4)
		for (size_t at = 0; at < 16; at++)
			assert_int_equal(roce_crc_clmul(len * 0x1234567, data + at, len),
					 crc32_gzip_refl(len * 0x1234567, data + at, len));
}

static void every_bit_agrees_with_isa_l(void **state)
{
	need_instruction();
	for (size_t len = 4; len <= ROCE_CRC_CLMUL_MAX; len += 4)
		for (size_t bit = 0; bit < len * 8; bit++) {
			uint8_t bits[ROCE_CRC_CLMUL_MAX] = { 0 };

			bits[bit / 8] = 1 << bit % 8;
			assert_int_equal(roce_crc_clmul(0, bits, len),
					 crc32_gzip_refl(0, bits, len));
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_length_and_alignment_agrees_with_isa_l),
		cmocka_unit_test(every_bit_agrees_with_isa_l),
	};

	return cmocka_run_group_tests(tests, fill, NULL);
}
