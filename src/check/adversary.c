/* SPDX-License-Identifier: BSD-2-Clause */
#include "check/adversary.h"

#include <stdlib.h>

void check_adversary_open(void)
{
	const char *seed = getenv("VERBENA_CHECK_ADVERSARY");

	check.adversary = seed ? strtoull(seed, NULL, 0) : 0;
	atomic_store(&check.dice, check.adversary);
}

/* splitmix64. */
static uint64_t throw_dice(void)
{
	uint64_t z =
		atomic_fetch_add_explicit(&check.dice, 0x9e3779b97f4a7c15ull, memory_order_relaxed);

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

bool check_adversary_throws_hold(void)
{
	return throw_dice() % 4 == 0;
}

int check_adversary_throws_count(int count)
{
	return count > 1 ? 1 + (int)(throw_dice() % (unsigned int)count) : count;
}
