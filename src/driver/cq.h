/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The consumer's side of completion rings: creation, resizing, arming, purging. Polling is in
 * driver/poll.h. A driver's CQ starts with struct drv_cq.
 */
#ifndef DRIVER_CQ_H
#define DRIVER_CQ_H

#include <stdatomic.h>

#include "driver/ring.h"
#include "driver/srq.h"
#include "verbs/objects.h"

#define DRV_CI_MASK 0xffffffu /* of consumer indexes in doorbell records */

struct drv_cq {
	struct vb_cq vb;
	struct fabric_lock
		lock;        /* everything below, and the entries between ci and the adapter's */
	bool unlocked;       /* IBV_CREATE_CQ_ATTR_SINGLE_THREADED */
	_Atomic bool more;   /* the last poll may have left entries: see driver/poll.h */
	bool raw;            /* the program polls the ring itself (direct verbs) */
	uint8_t entry_shift; /* log2 of an entry's bytes */
	uint32_t mask;       /* entries, less one */
	uint32_t ci;         /* consumer index, free running */
	_Atomic uint32_t arm_sn; /* events fetched; the arm word carries it */
	uint8_t *entries;        /* the CQE of the first entry, at the entry's end */
	volatile uint32_t *db;   /* [0] consumer index, [1] arm word */
	void *last;              /* the driver's: queue of the last CQE polled, saves a look-up */
	const void *cqe;         /* of ibv_start_poll() and ibv_next_poll() */
	const struct drv_cq_format *format;
	struct drv_ring ring;
};

/*
 * Properties of a driver's format. A CQE is the end of a ring's entry; its last byte has the owner
 * bit, which is that of the lap (index & size) when the adapter has written it.
 */
struct drv_cq_format {
	const struct hca_format *hca;
	struct drv_ring_types types;
	uint8_t cqe_size;
	uint8_t owner_mask;
	uint32_t arm_next, arm_solicited; /* command bits of the arm word */
	/* Gives all entries of a new ring to the adapter, for the lap 0. */
	void (*init)(void *buf, size_t count, size_t entry_size);
	bool (*ready)(const struct drv_cq *cq, uint32_t index);
	/*
	 * For a purge: whether the CQE is of this queue, the driver's own struct. NULL: of an XRC
	 * receive queue, srq.
	 */
	bool (*belongs)(const struct drv_cq *cq, const void *cqe, const void *queue,
			const struct drv_srq *srq);
	/* The SRQ entry that the CQE completes, less than 0: none. */
	int (*srq_entry)(const void *cqe);
};

static inline void *drv_cqe_at(const struct drv_cq *cq, uint32_t index)
{
	return cq->entries + ((size_t)(index & cq->mask) << cq->entry_shift);
}

/*
 * Allocates the ring and makes the adapter's CQ, by attr, which the library has checked and which
 * gets the number of entries granted. 0 or -errno.
 */
int drv_cq_init(struct drv_cq *cq, struct vb_context *ctx, struct vb_memory *memory,
		struct ibv_cq_init_attr_ex *attr, uint32_t entry_size,
		const struct drv_cq_format *format);
/*
 * -EINVAL when the completions in the ring do not fit. The caller frees *old, the ring that is no
 * longer used; it has no memory when there is none.
 */
int drv_cq_resize(struct drv_cq *cq, int entries, struct vb_buf *old);
/* ibv_req_notify_cq(). */
int drv_arm_cq(struct ibv_cq *cq, int solicited);
/* The program has fetched an event of the CQ: only now arming again counts as new. */
void drv_cq_event(struct vb_cq *cq);
/* Takes the CQEs of a queue out of the ring, and releases the entries of the SRQ that they hold. */
void drv_cq_purge(struct drv_cq *cq, const void *queue, struct drv_srq *srq);

#endif
