/* SPDX-License-Identifier: BSD-2-Clause */
#include "driver/recv_wqe.h"

#include "driver/record.h"

uint32_t drv_rq_producer(const struct hca_rq_ring *rq)
{
	return drv_record_load(rq->db) & DRV_INDEX_MASK;
}

static const void *entry_at(const struct hca_rq_ring *rq, uint32_t index)
{
	return (const uint8_t *)rq->buf + ((size_t)(index & (rq->size - 1)) << rq->slot_shift);
}

/* The adapter holds the queue's lock; the program may write the entry meanwhile. */
void drv_rq_decode(const struct hca_rq_ring *rq, uint32_t index, struct hca_recv *out)
{
	const struct drv_data_seg *seg = entry_at(rq, index);
	int count = 0;

	seg += rq->signature;
	for (; count < rq->max_sge; count++, seg++) {
		struct hca_sge *sge = &out->sge[count];
		uint32_t len = drv_load32(&seg->byte_count);

		sge->key = drv_load_key(&seg->lkey);
		if (sge->key == DRV_INVALID_LKEY)
			break;
		sge->len = len ? len : DRV_DATA_SEG_MAX;
		sge->addr = drv_load64(&seg->addr);
	}
	out->counter = index & DRV_INDEX_MASK;
	out->sge_count = count;
}

uint32_t drv_srq_next(const struct hca_rq_ring *rq, uint32_t index)
{
	const struct drv_link_seg *link = entry_at(rq, index);

	if (rq->cyclic)
		return (index + 1) & (rq->size - 1);
	return be16toh(__atomic_load_n(&link->next_wqe_index, __ATOMIC_RELAXED)) & (rq->size - 1);
}
