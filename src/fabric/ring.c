/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Makes and maps ring pairs, and the slow half of the ring's producer. The memfd holds one control
 * page per ring, then the rings' data; each ring's data is mapped twice in a row, so that a record
 * which runs over the end is contiguous to both sides.
 */
#include "fabric/ring.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fabric/memfd.h"
#include "util/explain.h"

#define CTL_BYTES 4096u

_Static_assert(sizeof(struct fabric_ring_ctl) <= CTL_BYTES, "one page per ring");

const _Atomic uint64_t fabric_ring_empty;

static bool size_is_valid(uint32_t size)
{
	return size >= FABRIC_RING_MIN && size <= FABRIC_RING_MAX && !(size & (size - 1));
}

int fabric_ring_memfd(uint32_t size, unsigned int rings, int *fd)
{
	if (!size_is_valid(size))
		return explain(EINVAL,
			       "a ring of %u bytes; it must be a power of two from %u to %u", size,
			       FABRIC_RING_MIN, FABRIC_RING_MAX);
	return fabric_memfd_create("verbena-rings", (uint64_t)rings * (CTL_BYTES + size), fd);
}

int fabric_ring_map(int fd, uint32_t size, unsigned int rings, struct fabric_ring_pair *out)
{
	size_t controls = (size_t)rings * CTL_BYTES;
	size_t bytes = controls + (size_t)rings * 2 * size;
	struct fabric_ring_pair pair = { .bytes = bytes, .size = size };
	uint8_t *at;
	int err;

	if (!size_is_valid(size) || fabric_memfd_check(fd, (uint64_t)rings * (CTL_BYTES + size)))
		return -EPROTO;
	at = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED)
		return -errno;
	pair.base = at;
	err = fabric_memfd_map_at(fd, 0, controls, at);
	for (unsigned int i = 0; i < rings; i++) {
		uint64_t offset = controls + (uint64_t)i * size;

		pair.ctl[i] = (struct fabric_ring_ctl *)(void *)(at + (size_t)i * CTL_BYTES);
		pair.data[i] = at + controls + (size_t)i * 2 * size;
		if (!err)
			err = fabric_memfd_map_at(fd, offset, size, pair.data[i]);
		if (!err)
			err = fabric_memfd_map_at(fd, offset, size, pair.data[i] + size);
	}
	if (err) {
		munmap(at, bytes);
		return err;
	}
	*out = pair;
	return 0;
}

void fabric_ring_unmap(struct fabric_ring_pair *pair)
{
	if (pair->base)
		munmap(pair->base, pair->bytes);
	memset(pair, 0, sizeof(*pair));
}

/* Half a ring, so that any record fits as soon as the one before is gone. */
static uint32_t longest_record(uint32_t size)
{
	return size / 2 - FABRIC_HEADER;
}

void fabric_tx_init(struct fabric_tx *tx, const struct fabric_ring_pair *pair, unsigned int which)
{
	tx->data = pair->data[which];
	tx->ctl = pair->ctl[which];
	tx->size = pair->size;
	tx->mask = pair->size - 1;
	tx->max = longest_record(pair->size);
	tx->tail = 0;
	tx->limit = pair->size;
	tx->pending = 0;
}

void fabric_rx_init(struct fabric_rx *rx, const struct fabric_ring_pair *pair, unsigned int which)
{
	rx->data = pair->data[which];
	rx->ctl = pair->ctl[which];
	rx->mask = pair->size - 1;
	rx->max = longest_record(pair->size);
	rx->head = 0;
	rx->bytes = 0;
	/* [R3] pairs with fabric_rx_ready(): the mapping before its address */
	atomic_store_explicit(&rx->next, fabric_ring_word(rx->data, rx->mask, 0),
			      memory_order_release);
}

void fabric_tx_none(struct fabric_tx *tx)
{
	/* Every record has at least one line; with limit == tail there is room for none, and
	 * without a ring fabric_tx_refill() finds no more. */
	tx->size = 0;
	tx->limit = tx->tail;
	tx->pending = 0;
}

void fabric_rx_none(struct fabric_rx *rx)
{
	rx->bytes = 0;
	atomic_store_explicit(&rx->next, (_Atomic uint64_t *)&fabric_ring_empty,
			      memory_order_relaxed);
}

bool fabric_tx_refill(struct fabric_tx *tx, uint32_t bytes, int *err)
{
	uint32_t seen = tx->limit - tx->size, head;

	if (!tx->size)
		return false;
	/* [R2] pairs with fabric_rx_release() */
	head = atomic_load_explicit(&tx->ctl->head, memory_order_acquire);
	/* It moves forward, by whole lines, and never past what was reserved. */
	if (head % FABRIC_LINE || head - seen > tx->tail - seen) {
		*err = -EPROTO;
		return false;
	}
	tx->limit = head + tx->size;
	return tx->limit - tx->tail >= bytes;
}

void fabric_tx_cancel(struct fabric_tx *tx)
{
	uint32_t pos;

	if (!tx->pending)
		return;
	/* The payload may have covered the first words of lines that have to read 0. */
	for (pos = tx->record[0].pos; pos != tx->tail; pos += FABRIC_LINE)
		atomic_store_explicit(fabric_ring_word(tx->data, tx->mask, pos), 0,
				      memory_order_relaxed);
	tx->tail = tx->record[0].pos;
	tx->pending = 0;
}
