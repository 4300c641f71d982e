/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tables of the Toeplitz hash, computed once per key. No state.
 */
#include "ether/toeplitz.h"

/* The 32 bits of the key from bit `at` on; beyond its end are zeros. */
static uint32_t window(const uint8_t *key, unsigned int at)
{
	uint64_t bits = 0;

	for (unsigned int i = 0; i < 5; i++) {
		unsigned int byte = at / 8 + i;

		bits = bits << 8 | (byte < ETHER_RSS_KEY ? key[byte] : 0);
	}
	return (uint32_t)(bits >> (8 - at % 8));
}

void ether_toeplitz_init(struct ether_toeplitz *t, const uint8_t key[ETHER_RSS_KEY])
{
	for (unsigned int place = 0; place < 2 * ETHER_RSS_INPUT; place++)
		for (unsigned int value = 0; value < 16; value++) {
			uint32_t hash = 0;

			for (unsigned int bit = 0; bit < 4; bit++)
				if (value & 8u >> bit)
					hash ^= window(key, 4 * place + bit);
			t->part[place][value] = hash;
		}
}
