/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/memory/key.h"

#include <errno.h>
#include <sys/random.h>

#include "fabric/directory.h"
#include "fabric/numbers.h"
#include "hca/device/table.h"
#include "hca/hca.h"
#include "fabric/epoch.h"
#include "hca/peers/grace.h"
#include "util/mix.h"
#include "util/valgrind.h"

/*
 * Keys below 0x500 are never given out: in mlx5 entries 0x100 ends lists, and 0x400 announces
 * interleaved entries.
 */

static uint64_t random_word(void)
{
	uint64_t word;

	return getrandom(&word, sizeof(word), 0) == sizeof(word) ? word : hca_now_ns();
}

/*
 * Lock held. A new block replaces the range of unused numbers, which is empty by now. Without a
 * new block, numbers that were given back are used again. The reason why there is none has been explained.
 */
static int refill(struct hca_numbers *numbers)
{
	uint32_t first, count;
	int err = fabric_key_block_get(&first, &count);

	if (err)
		return err;
	valgrind_mark_used(&hca.peers.segment->mr[first], count * sizeof(struct hca_mr_entry));
	numbers->first = first;
	numbers->limit = first + count;
	numbers->fresh = 0;
	if (!hca.memory.key.secret)
		hca.memory.key.secret = random_word();
	numbers->start = (uint32_t)(mix64(hca.memory.key.secret ^ first) % count);
	return 0;
}

/*
 * The lower 8 bits of a key. They count up each time the number is used, so that an old key names
 * nothing; where they begin is another secret for each number.
 */
static uint32_t variant(uint32_t index, uint32_t generation)
{
	return (generation + (uint32_t)(mix64(hca.memory.key.secret + index) >> 32)) & 0xff;
}

int hca_key_get(uint32_t *index, uint32_t *key)
{
	struct hca_numbers *numbers = &hca.memory.key.numbers;
	struct hca_mr_entry *e;
	int err, reason = 0;

	pthread_mutex_lock(&hca.memory.key.lock);
	if (hca_numbers_low(numbers))
		reason = refill(numbers);
	err = hca_number_get(numbers, index);
	if (err)
		err = reason && reason != -ENOSPC ? reason : -ENOMEM;
	if (!err) {
		e = hca_key_entry(*index);
		e->generation++;
		*key = *index << 8 | variant(*index, e->generation);
	}
	pthread_mutex_unlock(&hca.memory.key.lock);
	return err;
}

void hca_key_put(uint32_t index)
{
	struct hca_mr_entry *e;

	/* A number that a forked child has inherited belongs to the parent, also before the child has joined. */
	if (!fabric_self() || fabric_key_owner(index) != fabric_self())
		return;
	pthread_mutex_lock(&hca.memory.key.lock);
	/* Valgrind takes a table's contents for pointers: a buffer that is leaked after its region would count as reachable. */
	e = hca_key_entry(index);
	e->va = 0;
	e->iova = 0;
	hca_number_put(&hca.memory.key.numbers, index);
	pthread_mutex_unlock(&hca.memory.key.lock);
}

void hca_key_publish(uint32_t index, const struct hca_mr_entry *from, uint32_t key)
{
	struct hca_mr_entry *e = hca_key_entry(index);

	e->pdn = from->pdn;
	e->access = from->access;
	e->flags = from->flags;
	e->iova = from->iova;
	e->length = from->length;
	e->va = from->va;
	e->qpn = from->qpn;
	e->context = from->context;
	/* [MR1] pairs with hca_mem_find(): the fields before the key */
	atomic_store_explicit(&e->key, key, memory_order_release);
}
