/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One count for each place and set of attributes. An object is made per message if it is made CYCLES times, with
 * about one post from one time to the next.
 */
#define XXH_INLINE_ALL
#include "check/cycle.h"

#include <stdio.h>
#include <stdlib.h>
#include <xxhash.h>

#include "check/connect.h"
#include "check/place.h"
#include "check/report.h"
#include "check/state.h"

#define CYCLES     32u
#define KNOWN_MOST 4096u
#define POSTS_MOST 2u /* from one creation to the next */

struct check_cycle {
	struct hash_link link;
	unsigned int count;    /* of creations in a row, each with its posts */
	unsigned long long at; /* counter of posts at the last creation */
};

static struct check_cycle *find(uint64_t key)
{
	struct hash_link *link = hash_find(&check.cycles, key);
	struct check_cycle *c;

	if (link)
		return container_of(link, struct check_cycle, link);
	if (check.cycle_count >= KNOWN_MOST)
		return NULL;
	c = calloc(1, sizeof(*c));
	if (c) {
		check.cycle_count++;
		hash_add(&check.cycles, &c->link, key);
	}
	return c;
}

/* True: this is the creation that makes it a finding. */
static bool count(uint64_t key, unsigned long long posts)
{
	struct check_cycle *c;
	bool found = false;

	pthread_mutex_lock(&check.memory_lock);
	c = find(key);
	if (c) {
		unsigned long long since = posts - c->at;

		c->count = since >= 1 && since <= POSTS_MOST ? c->count + 1 : 0;
		c->at = posts;
		found = c->count == CYCLES;
	}
	pthread_mutex_unlock(&check.memory_lock);
	return found;
}

void check_cycle_ah(struct vb_ah *ah, const struct ibv_ah_attr *attr)
{
	const struct check_place *place = check_place_here();
	struct check_report r = { .kind = CHECK_AH_PER_MESSAGE,
				  .stacks[0] = { "created at", place } };
	uint64_t key = XXH3_64bits_withSeed(&ah->av, sizeof(ah->av), (uintptr_t)place);

	check_connect_path(ah->ah.context, attr);
	if (!count(key, atomic_load_explicit(&check.datagrams, memory_order_relaxed)))
		return;
	snprintf(r.text, sizeof(r.text),
		 "Address handles for one destination are created again and again: %u times, with "
		 "one "
		 "or two messages for each.",
		 CYCLES);
	check_report(&r);
}

void check_cycle_mr(struct vb_mr *mr)
{
	const struct check_place *place = check_place_here();
	struct check_report r = { .kind = CHECK_MR_PER_MESSAGE,
				  .stacks[0] = { "registered at", place } };
	const uint64_t range[] = { (uintptr_t)mr->mr.addr, mr->mr.length };

	if (!count(XXH3_64bits_withSeed(range, sizeof(range), (uintptr_t)place),
		   atomic_load_explicit(&check.posts, memory_order_relaxed)))
		return;
	snprintf(r.text, sizeof(r.text),
		 "%zu bytes at %p are registered again and again: %u times, with one or two "
		 "requests "
		 "for each.",
		 mr->mr.length, mr->mr.addr, CYCLES);
	check_report(&r);
}
