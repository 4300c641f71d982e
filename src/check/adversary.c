/* SPDX-License-Identifier: BSD-2-Clause */
#include "check/adversary.h"

#include <stdlib.h>

#define PAUSE_RARE   8u /* one post in so many begins one */
#define PAUSE_MAX_NS 500000u

void check_adversary_open(void)
{
	const char *seed = getenv("VERBENA_CHECK_ADVERSARY");

	check.adversary = seed ? strtoull(seed, NULL, 0) : 0;
	atomic_store(&check.random, check.adversary);
}

/* splitmix64. */
uint64_t check_adversary_random(void)
{
	uint64_t z = atomic_fetch_add_explicit(&check.random, 0x9e3779b97f4a7c15ull,
					       memory_order_relaxed);

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

bool check_adversary_throws_hold(void)
{
	return check_adversary_random() % 4 == 0;
}

int check_adversary_throws_count(int count)
{
	return count > 1 ? 1 + (int)(check_adversary_random() % (unsigned int)count) : count;
}

void check_adversary_throws_pause(struct hca_qp *qp)
{
	uint64_t random = check_adversary_random();

	if (random % PAUSE_RARE == 0)
		hca_qp_pause(qp, 1 + random / PAUSE_RARE % PAUSE_MAX_NS);
}
