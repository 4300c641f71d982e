/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A hash table of objects that embed a link, keyed by 64 bits; several objects may have one key.
 * Adding, finding and removing take constant time however many objects there are: the array of
 * chains grows with them. Adding cannot fail: without memory for a larger array chains get longer.
 *
 * The owner of the table serialises all calls. A table of zeros is empty.
 */
#ifndef UTIL_HASH_H
#define UTIL_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "util/api.h"

struct hash_link {
	struct hash_link *next, **at; /* `at` is what points here */
	uint64_t key;
};

struct hash {
	struct hash_link **chains; /* 2^bits of them; NULL: `only` is the one chain */
	struct hash_link *only;
	unsigned int bits;
	size_t count;
};

VB_API void hash_add(struct hash *h, struct hash_link *link, uint64_t key);
/* The link must be in the table. */
VB_API void hash_remove(struct hash *h, struct hash_link *link);
/* An object with the key, and another one behind it, in no particular order; NULL: none. */
VB_API struct hash_link *hash_find(const struct hash *h, uint64_t key);
VB_API struct hash_link *hash_next(const struct hash_link *link);
/* Frees the array of chains; the objects are the caller's. */
VB_API void hash_fini(struct hash *h);

#endif
