/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Receive WQEs, which are the same bytes in both formats: in shared receive queues and striding work
 * queues a link segment (wqe_srq_next_seg), then data segments (wqe_data_seg), of which an invalid
 * key ends the list.
 */
#ifndef DRIVER_RECV_WQE_H
#define DRIVER_RECV_WQE_H

#include <endian.h>
#include <infiniband/verbs.h>

#include "hca/device/format.h"
#include "util/api.h"

struct drv_link_seg {
	uint16_t reserved;
	uint16_t next_wqe_index; /* big-endian */
	uint32_t reserved2[3];
};

struct drv_data_seg {
	uint32_t byte_count; /* big-endian; 0 means DRV_DATA_SEG_MAX */
	uint32_t lkey;
	uint64_t addr;
};

_Static_assert(sizeof(struct drv_link_seg) == 16 && sizeof(struct drv_data_seg) == 16,
	       "one 16-byte unit each");

#define DRV_INDEX_MASK   0xffffu /* of producer indexes in doorbell records */
#define DRV_INVALID_LKEY 0x100u
#define DRV_DATA_SEG_MAX 0x80000000u

/* The adapter reads entries while a program may write them: each word once. */
static inline uint32_t drv_load32(const void *p)
{
	return be32toh(__atomic_load_n((const uint32_t *)p, __ATOMIC_RELAXED));
}

static inline uint64_t drv_load64(const void *p)
{
	return be64toh(__atomic_load_n((const uint64_t *)p, __ATOMIC_RELAXED));
}

/* HCA_KEY_INLINE is reserved for the adapter's own use: in a ring it is an invalid key. */
static inline uint32_t drv_load_key(const void *p)
{
	uint32_t key = drv_load32(p);

	return unlikely(key == HCA_KEY_INLINE) ? 0 : key;
}

static inline void drv_data_seg_set(struct drv_data_seg *seg, uint32_t len, uint32_t key,
				    uint64_t addr)
{
	seg->byte_count = htobe32(len);
	seg->lkey = htobe32(key);
	seg->addr = htobe64(addr);
}

/* How many elements a receive queue's WQEs take, and what the format's own driver does beyond. */
struct drv_recv_limits {
	uint32_t max_sge;
	int sge_errno;        /* the answer to more */
	uint32_t length_mask; /* bits of an element's length that are written */
};

/* The scatter list of a receive. The caller has checked num_sge and holds the ring's lock. */
static inline void drv_scatter_set(struct drv_data_seg *seg, const struct ibv_recv_wr *wr,
				   const struct drv_recv_limits *limits)
{
	uint32_t used = 0;

	for (int i = 0; i < wr->num_sge; i++) {
		const struct ibv_sge *sge = &wr->sg_list[i];

		/* An empty element is left out: length 0 in a ring means 2 GiB. */
		if (likely(sge->length))
			drv_data_seg_set(&seg[used++], sge->length & limits->length_mask, sge->lkey,
					 sge->addr);
	}
	if (used < limits->max_sge)
		drv_data_seg_set(&seg[used], 0, DRV_INVALID_LKEY, 0);
}

/* ---- the adapter's side: functions of hca_format ---- */

uint32_t drv_rq_producer(const struct hca_rq_ring *rq);
void drv_rq_decode(const struct hca_rq_ring *rq, uint32_t index, struct hca_recv *out);
uint32_t drv_srq_next(const struct hca_rq_ring *rq, uint32_t index);

#endif
