/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One direction of a link: a byte ring with one producer and one consumer, in different processes.
 *
 * Records start on 64-byte lines and never straddle the end, because the data is mapped twice in a
 * row. Word 0 of a record's first line is its header: 0 until published, then FABRIC_PRESENT + the
 * length. The consumer polls just that word, so a record of up to 56 bytes moves in one cache line.
 * Before it returns credit it zeroes word 0 of every line it has read, so that the header after the
 * last record reads 0, whatever the payload was.
 *
 * Indices are free-running byte counts. Each side keeps its own in private memory. Values that the
 * other side writes (headers, head, want) are read once, checked, and then used.
 */
#ifndef FABRIC_RING_H
#define FABRIC_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/api.h"

#define FABRIC_LINE         64u
#define FABRIC_HEADER       8u
#define FABRIC_PRESENT      (1ull << 32)
#define FABRIC_PENDING_MAX  64u
#define FABRIC_RING_MIN     4096u
#define FABRIC_RING_MAX     (64u << 20)
#define FABRIC_RING_DEFAULT (256u << 10)

/* Shared; one page per ring. */
struct fabric_ring_ctl {
	/* Consumed up to here. The consumer writes. */
	_Alignas(64) _Atomic uint32_t head;
	/* 1 + the head at which the producer wants a kick, 0 for none. The producer sets it, the
	 * consumer clears it. */
	_Alignas(64) _Atomic uint32_t want;
	/* 1 from the producer's kick until the consumer's service thread looks at this ring. Both
	 * write. One per ring: a producer that stops between the two steps of a kick disturbs no
	 * other producer. */
	_Alignas(64) _Atomic uint32_t kicked;
	/* 1 once link_up() has returned in the producer's process. The producer writes. */
	_Alignas(64) _Atomic uint32_t is_up;
};

/* The producer's side; under the link's tx_lock. */
struct fabric_tx {
	uint8_t *data;
	struct fabric_ring_ctl *ctl;
	uint32_t mask;
	uint32_t tail;  /* reserved up to here */
	uint32_t limit; /* may be reserved up to here: the last head seen + size */
	uint32_t pending;
	uint32_t max; /* longest record */
	uint32_t size;
	struct {
		uint32_t pos, len;
	} record[FABRIC_PENDING_MAX];
};

/* The consumer's side; under the link's rx_lock, except `next`. */
struct fabric_rx {
	/* Header of the next record; any thread inside an epoch section may read it. */
	_Atomic(_Atomic uint64_t *) next;
	uint8_t *data;
	struct fabric_ring_ctl *ctl;
	uint32_t mask;
	uint32_t head;
	uint32_t bytes; /* lines of the record that was peeked, 0 when none was */
	uint32_t max;
};

/* A header that reads 0: `next` points to it when there is no ring. */
extern const _Atomic uint64_t fabric_ring_empty;

static inline uint32_t fabric_record_bytes(uint32_t len)
{
	return (len + FABRIC_HEADER + FABRIC_LINE - 1) & ~(FABRIC_LINE - 1);
}

/* Reads the credit: false when it is not enough; -EPROTO in *err when the head is impossible. */
bool fabric_tx_refill(struct fabric_tx *tx, uint32_t bytes, int *err);

/* Room for a record of len bytes, NULL when the ring or the pending list is full. */
static inline void *fabric_tx_reserve(struct fabric_tx *tx, uint32_t len, int *err)
{
	uint32_t pos = tx->tail, bytes = fabric_record_bytes(len);

	if (unlikely(len > tx->max || tx->pending == FABRIC_PENDING_MAX))
		return NULL;
	if (unlikely(tx->limit - pos < bytes) && !fabric_tx_refill(tx, bytes, err))
		return NULL;
	tx->record[tx->pending].pos = pos;
	tx->record[tx->pending].len = len;
	tx->pending++;
	tx->tail = pos + bytes;
	return tx->data + (pos & tx->mask) + FABRIC_HEADER;
}

static inline _Atomic uint64_t *fabric_ring_word(uint8_t *data, uint32_t mask, uint32_t pos)
{
	return (_Atomic uint64_t *)(void *)(data + (pos & mask));
}

/* Makes every reserved record visible, in order. */
static inline void fabric_tx_publish(struct fabric_tx *tx)
{
	for (uint32_t i = 0; i < tx->pending; i++)
		/* [R1] pairs with fabric_rx_peek(): the payload before the header */
		atomic_store_explicit(fabric_ring_word(tx->data, tx->mask, tx->record[i].pos),
				      FABRIC_PRESENT + tx->record[i].len, memory_order_release);
	tx->pending = 0;
}

/* Takes back every record that is reserved and not published. */
void fabric_tx_cancel(struct fabric_tx *tx);

/*
 * A hint, without a lock: meanwhile the ring may have wrapped, and the word may be in the middle of
 * a record that is being written. The caller checks again with the lock.
 */
__attribute__((no_sanitize("thread"))) static inline bool fabric_rx_ready(struct fabric_rx *rx)
{
	/* [R3] What is read next depends on the address: no acquire is needed. */
	const volatile uint64_t *next =
		(const volatile uint64_t *)atomic_load_explicit(&rx->next, memory_order_relaxed);

	return *next != 0;
}

/* The next record's payload; NULL when there is none, or when the header is invalid (*err). */
static inline const void *fabric_rx_peek(struct fabric_rx *rx, uint32_t *len, int *err)
{
	_Atomic uint64_t *next = atomic_load_explicit(&rx->next, memory_order_relaxed);
	/* [R1] */
	uint64_t header = atomic_load_explicit(next, memory_order_acquire);

	if (!header)
		return NULL;
	header -= FABRIC_PRESENT;
	if (unlikely(header > rx->max)) {
		*err = 1;
		return NULL;
	}
	*len = (uint32_t)header;
	rx->bytes = fabric_record_bytes(*len);
	return (const uint8_t *)next + FABRIC_HEADER;
}

/*
 * The record `off` bytes (whole records) behind the next one: NULL when there is none, or when its
 * header is invalid, which fabric_rx_peek() reports when it comes to it.
 */
static inline const void *fabric_rx_look(const struct fabric_rx *rx, uint32_t off, uint32_t *len)
{
	uint64_t header;

	if (unlikely(off > rx->mask)) /* a full ring: that is the first one again */
		return NULL;
	/* [R1] */
	header = atomic_load_explicit(fabric_ring_word(rx->data, rx->mask, rx->head + off),
				      memory_order_acquire);
	if (!header || unlikely(header - FABRIC_PRESENT > rx->max))
		return NULL;
	*len = (uint32_t)(header - FABRIC_PRESENT);
	return rx->data + ((rx->head + off) & rx->mask) + FABRIC_HEADER;
}

/* Releases the peeked record. True when the producer wants a kick for it. */
static inline bool fabric_rx_release(struct fabric_rx *rx)
{
	uint32_t head = rx->head, want;
	uint8_t *line = rx->data + (head & rx->mask);

	for (uint32_t off = 0; off < rx->bytes; off += FABRIC_LINE)
		atomic_store_explicit((_Atomic uint64_t *)(void *)(line + off), 0,
				      memory_order_relaxed);
	head += rx->bytes;
	rx->head = head;
	rx->bytes = 0;
	atomic_store_explicit(&rx->next, fabric_ring_word(rx->data, rx->mask, head),
			      memory_order_relaxed);
	/* [R2] pairs with fabric_tx_refill(): the zeroes, and our reads, before the credit */
	atomic_store_explicit(&rx->ctl->head, head, memory_order_release);
	want = atomic_load_explicit(&rx->ctl->want, memory_order_relaxed);
	return unlikely(want) && (int32_t)(head - (want - 1)) >= 0;
}

/* ---- a pair of rings in one memfd ---- */

struct fabric_ring_pair {
	void *base; /* one mapping of all */
	size_t bytes;
	struct fabric_ring_ctl *ctl[2];
	uint8_t *data[2];
	uint32_t size;
};

/* A sealed memfd for `rings` rings of `size` bytes. */
int fabric_ring_memfd(uint32_t size, unsigned int rings, int *fd);
/* Refuses (-EPROTO) a file that is not exactly such a memfd. Does not take the fd. */
int fabric_ring_map(int fd, uint32_t size, unsigned int rings, struct fabric_ring_pair *out);
void fabric_ring_unmap(struct fabric_ring_pair *pair);

void fabric_tx_init(struct fabric_tx *tx, const struct fabric_ring_pair *pair, unsigned int which);
void fabric_rx_init(struct fabric_rx *rx, const struct fabric_ring_pair *pair, unsigned int which);
/* No ring: nothing to read, no room to write. */
void fabric_tx_none(struct fabric_tx *tx);
void fabric_rx_none(struct fabric_rx *rx);

#endif
