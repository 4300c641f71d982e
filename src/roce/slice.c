/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/slice.h"

#include <endian.h>
#include <string.h>

#define POLY  0xedb88320u
#define SLICE 16

/* table[n][b]: byte b, with n bytes behind it. */
static uint32_t table[SLICE][256];

void roce_slice_init(void)
{
	for (uint32_t b = 0; b < 256; b++) {
		uint32_t crc = b;

		for (int i = 0; i < 8; i++)
			crc = crc >> 1 ^ (POLY & -(crc & 1));
		table[0][b] = crc;
	}
	for (int n = 1; n < SLICE; n++)
		for (uint32_t b = 0; b < 256; b++) {
			uint32_t before = table[n - 1][b];

			table[n][b] = before >> 8 ^ table[0][before & 0xff];
		}
}

/* Eight bytes, `behind` more of the step behind them. */
static inline uint32_t eight(uint64_t v, int behind)
{
	uint32_t low = v, high = v >> 32;

	return table[behind + 7][low & 0xff] ^ table[behind + 6][low >> 8 & 0xff] ^
	       table[behind + 5][low >> 16 & 0xff] ^ table[behind + 4][low >> 24] ^
	       table[behind + 3][high & 0xff] ^ table[behind + 2][high >> 8 & 0xff] ^
	       table[behind + 1][high >> 16 & 0xff] ^ table[behind][high >> 24];
}

uint32_t roce_slice_crc32(uint32_t crc, const uint8_t *data, size_t len)
{
	crc = ~crc;
	for (; len >= SLICE; data += SLICE, len -= SLICE) {
		uint64_t v[2];

		memcpy(v, data, sizeof(v));
		crc = eight(le64toh(v[0]) ^ crc, 8) ^ eight(le64toh(v[1]), 0);
	}
	while (len--)
		crc = crc >> 8 ^ table[0][(crc ^ *data++) & 0xff];
	return ~crc;
}
