/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The adversary: by random numbers of a seed, completions come later and in smaller portions than usual, queue
 * pairs begin later than others, and writes are placed in another order. What packets suffer is the business of
 * verbena-fault(7).
 */
#ifndef CHECK_ADVERSARY_H
#define CHECK_ADVERSARY_H

#include <stdbool.h>

#include "check/state.h"
#include "hca/transport/qp.h"
#include "util/api.h"

/* Reads the seed from the environment. */
void check_adversary_open(void);
bool check_adversary_throws_hold(void);
int check_adversary_throws_count(int count);
void check_adversary_throws_pause(struct hca_qp *qp);
/* For the adapter. */
uint64_t check_adversary_random(void);

/* This poll finds nothing. */
static inline bool check_adversary_holds(void)
{
	return unlikely(check.adversary) && check_adversary_throws_hold();
}

/* A post: the queue pair may begin later than others. */
static inline void check_adversary_post(struct hca_qp *qp)
{
	if (unlikely(check.adversary))
		check_adversary_throws_pause(qp);
}

/* As many completions as this poll may find. */
static inline int check_adversary_count(int count)
{
	return unlikely(check.adversary) ? check_adversary_throws_count(count) : count;
}

#endif
