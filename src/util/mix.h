/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UTIL_MIX_H
#define UTIL_MIX_H

#include <stdint.h>

/* Every bit of the result depends on every bit of x (the finaliser of SplitMix64). */
static inline uint64_t mix64(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

#endif
