/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Numbers that count up, made hard to guess: a permutation of all numbers of some bits, chosen by a
 * random key. Who knows some of them cannot tell the next, short of an attack on a small cipher;
 * nobody else knows any.
 */
#ifndef UTIL_SCRAMBLE_H
#define UTIL_SCRAMBLE_H

#include <stdbool.h>
#include <stdint.h>

#include "util/api.h"

struct scramble {
	uint64_t key[4];
};

/* Takes the key from the kernel. False when it gives none: nothing is changed then. */
VB_API bool scramble_init(struct scramble *s);
/* `n` has `bits` bits, 2 to 32; so has the result, which differs for all of them. */
VB_API uint32_t scramble(const struct scramble *s, uint32_t n, unsigned int bits);

#endif
