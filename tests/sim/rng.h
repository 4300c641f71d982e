/* SPDX-License-Identifier: BSD-2-Clause */
/* Random numbers from a seed (splitmix64): the same sequence everywhere. */
#ifndef TESTS_SIM_RNG_H
#define TESTS_SIM_RNG_H

#include <stdbool.h>
#include <stdint.h>

struct rng {
	uint64_t state;
};

static inline uint64_t rng_next(struct rng *r)
{
	uint64_t z = r->state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

/* From 0 to n - 1. */
static inline uint32_t rng_below(struct rng *r, uint32_t n)
{
	return (uint32_t)((rng_next(r) >> 32) * n >> 32);
}

static inline uint32_t rng_between(struct rng *r, uint32_t least, uint32_t most)
{
	return least + rng_below(r, most - least + 1);
}

static inline bool rng_percent(struct rng *r, uint32_t share)
{
	return rng_below(r, 100) < share;
}

/* A generator of its own for part `n` of what the seed decides. */
static inline struct rng rng_fork(uint64_t seed, uint64_t n)
{
	struct rng r = { seed * 0xd1342543de82ef95ull + n };

	rng_next(&r);
	return r;
}

#endif
