/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared receive queues. Entries form one list through their link segments: first the posted ones,
 * which the adapter takes from the front, then the free ones from `head` to `tail`. Posting moves
 * head; completing appends the entry behind tail. One entry always stays free, so that every posted
 * one has a valid link.
 */
#ifndef DRIVER_SRQ_H
#define DRIVER_SRQ_H

#include "driver/recv_wqe.h"
#include "driver/record.h"
#include "driver/ring.h"
#include "verbs/objects.h"

struct drv_srq {
	struct vb_srq vb;
	struct fabric_lock lock; /* head, tail, counter, the entries and their wr_ids */
	uint8_t shift;           /* log2 of an entry's bytes */
	uint16_t head, tail;     /* first and last free entry; equal: only one is free */
	uint16_t counter;        /* posted, free running */
	struct drv_recv_limits limits;
	uint32_t size;
	uint8_t *entries;
	volatile uint32_t *db;
	uint64_t *wr_ids;
	struct drv_ring ring;
};

/* Allocates `size` entries of 2^shift bytes, all in the free list. 0 or -errno. */
int drv_srq_init(struct drv_srq *srq, struct vb_memory *memory, struct vb_pd *pd,
		 struct drv_ring_types types);
void drv_srq_fini(struct drv_srq *srq);
/* The ring's description for the adapter. */
struct hca_rq_ring drv_srq_ring(const struct drv_srq *srq);
/* The entry is free again. */
void drv_srq_release(struct drv_srq *srq, uint16_t index);
/* The entry's completion was polled; returns its wr_id. */
static inline uint64_t drv_srq_complete(struct drv_srq *srq, uint16_t index)
{
	uint64_t wr_id = srq->wr_ids[index & (srq->size - 1)];

	drv_srq_release(srq, index);
	return wr_id;
}
/* ibv_post_srq_recv(). */
int drv_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);

#endif
