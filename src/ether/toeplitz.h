/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The Toeplitz hash of receive-side scaling: the XOR, over all set bits of the input (most significant
 * first), of the 32 bits of the key at the same position.
 */
#ifndef ETHER_TOEPLITZ_H
#define ETHER_TOEPLITZ_H

#include <stddef.h>
#include <stdint.h>

#define ETHER_RSS_KEY   40u
#define ETHER_RSS_INPUT 36u /* two IPv6 addresses, and two ports or an SPI */

/* The contribution of each value of each half byte of the input. */
struct ether_toeplitz {
	uint32_t part[2 * ETHER_RSS_INPUT][16];
};

void ether_toeplitz_init(struct ether_toeplitz *t, const uint8_t key[ETHER_RSS_KEY]);

static inline uint32_t ether_toeplitz(const struct ether_toeplitz *t, const uint8_t *input,
				      size_t len)
{
	uint32_t hash = 0;

	for (size_t i = 0; i < len; i++)
		hash ^= t->part[2 * i][input[i] >> 4] ^ t->part[2 * i + 1][input[i] & 0xf];
	return hash;
}

#endif
