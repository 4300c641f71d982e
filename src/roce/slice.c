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

/* Four bytes, `behind` more of the step behind them. */
static inline uint32_t four(uint32_t v, int behind)
{
	return table[behind + 3][v & 0xff] ^ table[behind + 2][v >> 8 & 0xff] ^
	       table[behind + 1][v >> 16 & 0xff] ^ table[behind][v >> 24];
}

static inline uint32_t load(const uint8_t *from)
{
	uint32_t v;

	memcpy(&v, from, sizeof(v));
	return le32toh(v);
}

static inline uint32_t by_word(uint32_t crc, const uint8_t *data, size_t len)
{
	for (; len >= SLICE; data += SLICE, len -= SLICE)
		crc = four(load(data) ^ crc, 12) ^ four(load(data + 4), 8) ^
		      four(load(data + 8), 4) ^ four(load(data + 12), 0);
	for (; len; data += 4, len -= 4)
		crc = four(load(data) ^ crc, 0);
	return crc;
}

uint32_t roce_slice_words(uint32_t crc, const uint8_t *data, size_t len)
{
	return ~by_word(~crc, data, len);
}

static uint32_t by_table(uint32_t crc, const uint8_t *data, size_t len)
{
	size_t words = len & ~(size_t)3;

	crc = by_word(crc, data, words);
	for (data += words, len -= words; len--; data++)
		crc = crc >> 8 ^ table[0][(crc ^ *data) & 0xff];
	return crc;
}

/*
 * Long data go without a table. x^300 + x^155 + x^117 + x^89 + 1 is a multiple of the polynomial, so
 * a bit may be cleared if those 145, 183, 211 and 300 behind it are flipped, and the remainder stays
 * the same. That is done to whole words, which are then gone: what is left of them are flips in the
 * five that follow. Shifts and exclusive ors take their place for which an emulator has to look up
 * sixteen addresses. (Chorba, by S. Russell, arXiv 2412.16398.)
 */
#define AHEAD 5
#define LONG  (4 * AHEAD * sizeof(uint64_t))

static inline __attribute__((always_inline)) void clear_word(const uint8_t *data,
							     uint64_t flips[AHEAD])
{
	uint64_t w;

	memcpy(&w, data, sizeof(w));
	w = le64toh(w) ^ flips[0];
	flips[0] = flips[1];
	flips[1] = flips[2] ^ w << 17 ^ w << 55;
	flips[2] = flips[3] ^ w >> 47 ^ w >> 9 ^ w << 19;
	flips[3] = flips[4] ^ w >> 45 ^ w << 44;
	flips[4] = w >> 20;
}

/* Clears words while so many are left that all flips have a place. Returns how many bytes. */
static size_t clear_words(const uint8_t *data, size_t len, uint64_t flips[AHEAD])
{
	const uint8_t *at = data, *end = data + len - 2 * AHEAD * sizeof(uint64_t);
	uint64_t f[AHEAD];

	memcpy(f, flips, sizeof(f));
	for (; at <= end; at += AHEAD * sizeof(uint64_t)) {
		clear_word(at, f);
		clear_word(at + 8, f);
		clear_word(at + 16, f);
		clear_word(at + 24, f);
		clear_word(at + 32, f);
	}
	memcpy(flips, f, sizeof(f));
	return at - data;
}

uint32_t roce_slice_crc32(uint32_t crc, const uint8_t *data, size_t len)
{
	crc = ~crc;
	if (len >= LONG) {
		uint64_t flips[AHEAD] = { crc }, words[AHEAD];
		size_t done = clear_words(data, len, flips);

		data += done;
		len -= done;
		memcpy(words, data, sizeof(words));
		for (int i = 0; i < AHEAD; i++)
			words[i] ^= htole64(flips[i]);
		crc = by_table(0, (const uint8_t *)words, sizeof(words));
		data += sizeof(words);
		len -= sizeof(words);
	}
	return ~by_table(crc, data, len);
}
