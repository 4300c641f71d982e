/* SPDX-License-Identifier: BSD-2-Clause */
#include "driver/srq.h"

#include <errno.h>
#include <stdlib.h>

#include "util/explain.h"

static struct drv_link_seg *entry_at(const struct drv_srq *srq, uint32_t index)
{
	return (void *)(srq->entries + ((size_t)index << srq->shift));
}

/* Relaxed: the adapter follows links of posted entries only, under its own lock. */
static void set_link(struct drv_srq *srq, uint32_t index, uint16_t next)
{
	__atomic_store_n(&entry_at(srq, index)->next_wqe_index, htobe16(next), __ATOMIC_RELAXED);
}

void drv_srq_release(struct drv_srq *srq, uint16_t index)
{
	index &= srq->size - 1;
	fabric_lock(&srq->lock);
	set_link(srq, srq->tail, index);
	srq->tail = index;
	fabric_unlock(&srq->lock);
}

static __attribute__((cold, noinline)) int refuse(const struct drv_srq *srq,
						  const struct ibv_recv_wr *wr)
{
	if ((uint32_t)wr->num_sge > srq->limits.max_sge)
		return -explain(srq->limits.sge_errno,
				"SRQ 0x%x: %d elements in a receive; it was created for %u",
				srq->vb.hca->srqn, wr->num_sge, srq->limits.max_sge);
	return -explain(ENOMEM, "SRQ 0x%x is full: %u receives are posted", srq->vb.hca->srqn,
			srq->size - 1);
}

static inline int post_one(struct drv_srq *srq, const struct ibv_recv_wr *wr)
{
	struct drv_link_seg *entry = entry_at(srq, srq->head);

	if (unlikely((uint32_t)wr->num_sge > srq->limits.max_sge || srq->head == srq->tail))
		return refuse(srq, wr);
	drv_scatter_set((void *)(entry + 1), wr, &srq->limits);
	srq->wr_ids[srq->head] = wr->wr_id;
	srq->head = be16toh(__atomic_load_n(&entry->next_wqe_index, __ATOMIC_RELAXED));
	srq->counter++;
	return 0;
}

/* The doorbell record is stored once, for the whole list. */
int drv_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct drv_srq *srq = container_of(ibsrq, struct drv_srq, vb.srq);
	uint16_t before;
	int err = 0;

	fabric_lock(&srq->lock);
	before = srq->counter;
	for (; wr; wr = wr->next) {
		err = post_one(srq, wr);
		if (unlikely(err)) {
			*bad = wr;
			break;
		}
	}
	if (likely(srq->counter != before))
		drv_record_store(srq->db, srq->counter);
	fabric_unlock(&srq->lock);
	return err;
}

int drv_srq_init(struct drv_srq *srq, struct vb_memory *memory, struct vb_pd *pd,
		 struct drv_ring_types types)
{
	int err = drv_ring_alloc(&srq->ring, memory, pd, (size_t)srq->size << srq->shift, types);

	if (err)
		return err;
	srq->wr_ids = calloc(srq->size, sizeof(*srq->wr_ids));
	if (!srq->wr_ids) {
		drv_ring_free(&srq->ring);
		return -ENOMEM;
	}
	srq->entries = srq->ring.buf.addr;
	srq->db = srq->ring.record.addr;
	srq->head = 0;
	srq->tail = srq->size - 1;
	for (uint32_t i = 0; i < srq->size; i++)
		set_link(srq, i, (i + 1) & (srq->size - 1));
	return 0;
}

void drv_srq_fini(struct drv_srq *srq)
{
	free(srq->wr_ids);
	drv_ring_free(&srq->ring);
}

struct hca_rq_ring drv_srq_ring(const struct drv_srq *srq)
{
	return (struct hca_rq_ring){ .buf = srq->entries,
				     .size = srq->size,
				     .slot_shift = srq->shift,
				     .max_sge = srq->limits.max_sge,
				     .signature = true,
				     .db = srq->db };
}
