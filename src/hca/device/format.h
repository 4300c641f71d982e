/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ring-format interface: how the adapter reads and writes rings in memory. One implementation
 * for mlx5 (src/mlx5/format.c) and one for mlx4 (src/mlx4/format.c). Functions get pointers to
 * ring memory that a program may change at any time: they read each word once, check what they
 * read, and never follow anything but the ring's own bounds.
 */
#ifndef HCA_FORMAT_H
#define HCA_FORMAT_H

#include "hca/device/work.h"

struct hca_qp;
struct hca_cq;
struct hca_srq;
struct hca_eq;
struct hca_eqe;

/* A send queue in memory. */
struct hca_sq_ring {
	void *buf;
	uint32_t size;         /* slots; a power of two */
	uint8_t slot_shift;    /* log2 of a slot's bytes */
	volatile uint32_t *db; /* doorbell record of the producer index, or NULL (mlx4) */
};

/* A receive queue in memory. */
struct hca_rq_ring {
	void *buf;
	uint32_t size; /* entries; a power of two; 0: there is none */
	uint8_t slot_shift;
	uint8_t max_sge;
	bool signature;        /* entries start with a signature segment */
	bool cyclic;           /* a shared queue whose entries are taken one after the other */
	volatile uint32_t *db; /* producer index, big-endian */
};

/* Slots change hands by a producer index that counts modulo mask + 1; both run freely. */
static inline bool hca_sq_posted(const struct hca_sq_ring *sq, uint32_t index, uint32_t producer,
				 uint32_t mask)
{
	return ((producer - index) & mask) - 1 < sq->size;
}

/* A store to a doorbell page. */
enum hca_store {
	HCA_STORE_SQ, /* it completes the word of a send queue with a doorbell record */
	HCA_STORE_PART, /* the first half of that word, or part of an entry that is copied behind it */
	HCA_STORE_OTHER, /* another register */
};

struct hca_format {
	/* That mask, or 0: slots carry owner bits. A constant, so that the common test is no call. */
	uint32_t sq_index_mask;
	/*
	 * The send queue's slot `index` (free running): true when the adapter owns it now. `producer`
	 * is the last doorbell's value (formats whose slots carry an owner bit ignore it).
	 */
	bool (*sq_ready)(const struct hca_sq_ring *sq, uint32_t index, uint32_t producer);
	/* The doorbell record's value now, free running modulo 2^16. */
	uint32_t (*sq_producer)(const struct hca_sq_ring *sq);
	/* Decodes the request at slot `index`. Never fails: see hca_send.bad. */
	void (*sq_decode)(const struct hca_qp *qp, uint32_t index, struct hca_send *out);
	/* Number of receive entries posted, free running modulo 2^16. */
	uint32_t (*rq_producer)(const struct hca_rq_ring *rq);
	void (*rq_decode)(const struct hca_rq_ring *rq, uint32_t index, struct hca_recv *out);
	/* The shared receive queue: entries form a list. `index` is a slot; returns the next one. */
	uint32_t (*srq_next)(const struct hca_rq_ring *rq, uint32_t index);
	/* Writes the completion into the ring at free-running index `pi`, owner bit last. */
	void (*cqe_write)(struct hca_cq *cq, uint32_t pi, const struct hca_cqe *cqe);
	/*
	 * Writes the first of `count` completions in a shorter form that stands for several, and returns
	 * how many; 0: there is none for them. Called for queues that permit it (hca_cq.mini); or NULL.
	 */
	unsigned int (*cqe_compress)(struct hca_cq *cq, uint32_t pi, const struct hca_cqe *cqe,
				     unsigned int count);
	/* Consumer index of the completion queue as its doorbell record has it, modulo 2^24. */
	uint32_t (*cq_consumer)(const struct hca_cq *cq);
	/* Writes the event into the ring at free-running index `pi`, owner bit last. */
	void (*eqe_write)(struct hca_eq *eq, uint32_t pi, const struct hca_eqe *eqe);
	/*
	 * Doorbell pages (uar.h). Taking a word empties its register: that of CQs yields the number of a
	 * CQ and the arm word stored for it, those of EQs the consumer index that was stored for queue
	 * `eqn`, and whether that arms it. False: no word. That of send queues without a doorbell record
	 * yields a producer index, which goes to `record` in a record's form if the word is for `qpn`.
	 * NULL: programs need not store to a page, so that the rings themselves have to be watched.
	 */
	bool (*uar_take_cq)(uint8_t *page, uint32_t *cqn, uint32_t *word);
	bool (*uar_take_eq)(uint8_t *page, uint32_t eqn, uint32_t *consumer, bool *arm);
	void (*uar_take_sq)(uint8_t *page, uint32_t qpn, volatile uint32_t *record);
	/*
	 * What a store of `size` bytes is, of which `first` has the first eight as in memory; the queue's number for
	 * HCA_STORE_SQ. Not by the registers, to which other threads store as well.
	 */
	enum hca_store (*uar_store)(uint32_t offset, uint32_t size, uint64_t first, uint32_t *qpn);
};

static inline bool hca_sq_ready(const struct hca_format *format, const struct hca_sq_ring *sq,
				uint32_t index, uint32_t producer)
{
	if (likely(format->sq_index_mask))
		return hca_sq_posted(sq, index, producer, format->sq_index_mask);
	return format->sq_ready(sq, index, producer);
}

#endif
