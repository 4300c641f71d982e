/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A Feistel network of four rounds over an even number of bits. Where `bits` is odd, results that
 * are too large are scrambled again: about one more time.
 */
#include "util/scramble.h"

#include <sys/random.h>

#include "util/api.h"
#include "util/mix.h"

bool scramble_init(struct scramble *s)
{
	struct scramble fresh;

	if (getrandom(&fresh, sizeof(fresh), 0) != sizeof(fresh))
		return false;
	*s = fresh;
	return true;
}

static uint32_t permute(const struct scramble *s, uint32_t n, unsigned int half)
{
	uint32_t mask = (1u << half) - 1, left = n >> half, right = n & mask;

	for (unsigned int i = 0; i < array_size(s->key); i++) {
		uint32_t next = left ^ ((uint32_t)mix64(right ^ s->key[i]) & mask);

		left = right;
		right = next;
	}
	return left << half | right;
}

uint32_t scramble(const struct scramble *s, uint32_t n, unsigned int bits)
{
	unsigned int half = (bits + 1) / 2;

	do
		n = permute(s, n, half);
	while (bits < 32 && n >> bits);
	return n;
}
