/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/crc_table.h"

#include <endian.h>
#include <string.h>

#define POLY 0xedb88320u

void roce_crc_table_init(struct roce_crc_table *t)
{
	for (uint32_t b = 0; b < 256; b++) {
		uint32_t crc = b;

		for (int i = 0; i < 8; i++)
			crc = crc >> 1 ^ (POLY & -(crc & 1));
		t->crc[0][b] = crc;
	}
	for (int n = 1; n < ROCE_CRC_TABLE_STEP; n++)
		for (uint32_t b = 0; b < 256; b++) {
			uint32_t before = t->crc[n - 1][b];

			t->crc[n][b] = before >> 8 ^ t->crc[0][before & 0xff];
		}
}

/* Four bytes that `after` more bytes of the step follow. */
static inline uint32_t four(const struct roce_crc_table *t, uint32_t v, int after)
{
	return t->crc[after + 3][v & 0xff] ^ t->crc[after + 2][v >> 8 & 0xff] ^
	       t->crc[after + 1][v >> 16 & 0xff] ^ t->crc[after][v >> 24];
}

static inline uint32_t load(const uint8_t *from)
{
	uint32_t v;

	memcpy(&v, from, sizeof(v));
	return le32toh(v);
}

static inline uint32_t by_word(const struct roce_crc_table *t, uint32_t crc, const uint8_t *data,
			       size_t len)
{
	for (; len >= ROCE_CRC_TABLE_STEP; data += ROCE_CRC_TABLE_STEP, len -= ROCE_CRC_TABLE_STEP)
		crc = four(t, load(data) ^ crc, 12) ^ four(t, load(data + 4), 8) ^
		      four(t, load(data + 8), 4) ^ four(t, load(data + 12), 0);
	for (; len; data += 4, len -= 4)
		crc = four(t, load(data) ^ crc, 0);
	return crc;
}

uint32_t roce_crc_table_words(const struct roce_crc_table *t, uint32_t crc, const uint8_t *data,
			      size_t len)
{
	return ~by_word(t, ~crc, data, len);
}

static uint32_t by_table(const struct roce_crc_table *t, uint32_t crc, const uint8_t *data,
			 size_t len)
{
	size_t words = len & ~(size_t)3;

	crc = by_word(t, crc, data, words);
	for (data += words, len -= words; len--; data++)
		crc = crc >> 8 ^ t->crc[0][(crc ^ *data) & 0xff];
	return crc;
}

/*
 * Long data need no table. x^300 + x^155 + x^117 + x^89 + 1 is a multiple of the CRC polynomial, so a bit
 * can be cleared without changing the remainder if the bits 145, 183, 211 and 300 later are flipped. This is
 * done to whole 64-bit words, each of which flips bits in the next five. Shifts and exclusive ors replace
 * sixteen table lookups, which are slow in an emulator. (Chorba, S. Russell, arXiv 2412.16398.)
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

/* Clears words as long as at least five follow to take the flips. Returns the number of bytes cleared. */
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

uint32_t roce_crc_table_update(const struct roce_crc_table *t, uint32_t crc, const uint8_t *data,
			       size_t len)
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
		crc = by_table(t, 0, (const uint8_t *)words, sizeof(words));
		data += sizeof(words);
		len -= sizeof(words);
	}
	return ~by_table(t, crc, data, len);
}
