/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hash table with chaining; about one object per chain.
 */
#include "util/hash.h"

#include <assert.h>
#include <stdlib.h>

#define BITS_FIRST 6u

static size_t chain_of(unsigned int bits, uint64_t key)
{
	/* Fibonacci hashing: keys are pointers and numbers that differ in few bits. */
	return bits ? key * 0x9e3779b97f4a7c15ull >> (64 - bits) : 0;
}

static void insert(struct hash_link **chain, struct hash_link *link)
{
	link->next = *chain;
	link->at = chain;
	if (link->next)
		link->next->at = &link->next;
	*chain = link;
}

static void grow(struct hash *h)
{
	unsigned int bits = h->bits ? h->bits + 1 : BITS_FIRST;
	struct hash_link **chains, **old = h->chains ? h->chains : &h->only;

	assert(bits && bits < 64);
	if (h->count < (size_t)1 << h->bits)
		return;
	chains = calloc((size_t)1 << bits, sizeof(*chains));
	if (!chains)
		return;
	for (size_t i = 0; i < (size_t)1 << h->bits; i++)
		for (struct hash_link *link = old[i], *next; link; link = next) {
			next = link->next;
			insert(&chains[chain_of(bits, link->key)], link);
		}
	free(h->chains);
	h->chains = chains;
	h->only = NULL;
	h->bits = bits;
}

void hash_add(struct hash *h, struct hash_link *link, uint64_t key)
{
	grow(h);
	link->key = key;
	insert(h->chains ? &h->chains[chain_of(h->bits, key)] : &h->only, link);
	h->count++;
}

void hash_remove(struct hash *h, struct hash_link *link)
{
	*link->at = link->next;
	if (link->next)
		link->next->at = link->at;
	h->count--;
}

static struct hash_link *skip_others(struct hash_link *link, uint64_t key)
{
	while (link && link->key != key)
		link = link->next;
	return link;
}

struct hash_link *hash_find(const struct hash *h, uint64_t key)
{
	return skip_others(h->chains ? h->chains[chain_of(h->bits, key)] : h->only, key);
}

struct hash_link *hash_next(const struct hash_link *link)
{
	return skip_others(link->next, link->key);
}

void hash_fini(struct hash *h)
{
	free(h->chains);
	*h = (struct hash){ 0 };
}
