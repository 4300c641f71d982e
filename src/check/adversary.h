/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The adversary: completions come later and in smaller portions than usual, by the dice of a seed. What packets
 * suffer is the business of verbena-fault(7).
 */
#ifndef CHECK_ADVERSARY_H
#define CHECK_ADVERSARY_H

#include <stdbool.h>

#include "check/state.h"
#include "util/api.h"

/* Reads the seed from the environment. */
void check_adversary_open(void);
bool check_adversary_throws_hold(void);
int check_adversary_throws_count(int count);

/* This poll finds nothing. */
static inline bool check_adversary_holds(void)
{
	return unlikely(check.adversary) && check_adversary_throws_hold();
}

/* As many completions as this poll may find. */
static inline int check_adversary_count(int count)
{
	return unlikely(check.adversary) ? check_adversary_throws_count(count) : count;
}

#endif
