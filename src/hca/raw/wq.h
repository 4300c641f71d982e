/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Work queues: receive queues for frames that stand by themselves, behind an indirection table, or
 * inside of a raw packet QP. Tables of them are in hca/raw/rss.h.
 *
 * Frames arrive in batches between hca_rx_begin() and hca_rx_end(), under one lock for the whole
 * process that also guards states and positions of work queues; completions of a batch are written
 * at its end. Lock order: a QP's, then this one, then a CQ's.
 */
#ifndef HCA_WQ_H
#define HCA_WQ_H

#include "ether/frame.h"
#include "hca/device/counters.h"
#include "hca/queue/cq.h"
#include "hca/device/format.h"
#include "hca/memory/pd.h"
#include "hca/queue/srq.h"

/* Numbers as enum ibv_wq_state has them. */
enum hca_wq_state {
	HCA_WQS_RESET,
	HCA_WQS_RDY,
	HCA_WQS_ERR,
};

/* Bits as enum ibv_wq_flags has them. */
enum hca_wq_flags {
	HCA_WQF_CVLAN_STRIPPING = 1 << 0,
	HCA_WQF_SCATTER_FCS = 1 << 1,
	HCA_WQF_DELAY_DROP = 1 << 2,
	HCA_WQF_END_PADDING = 1 << 3,
};

/* Loopback of the own context's frames, which is off unless asked for. */
enum hca_self_lb {
	HCA_SELF_LB_UNICAST = 1 << 0,
	HCA_SELF_LB_MULTICAST = 1 << 1,
};

struct hca_wq_init {
	struct hca_pd *pd;
	struct hca_cq *cq;
	const struct hca_format *format;
	struct hca_rq_ring ring;
	struct hca_srq *srq; /* or NULL: entries are taken from it, and `ring` is of no use */
	uint32_t flags;
	/* multi-packet: log2 of a stride's bytes and of strides per entry; 0 and 0: it is none */
	uint8_t stride_shift, strides_shift;
	bool two_byte_shift; /* frames start two bytes into their first stride */
	uint32_t user_index;
	void *user; /* NULL: no events */
};

#define HCA_WQ_BATCH 16u

struct hca_wq {
	struct ether_dest dest; /* frames for this queue alone; users: tables and rules */
	struct hca_pd *pd;
	struct hca_cq *cq;
	const struct hca_format *format;
	struct hca_rq_ring ring;
	struct hca_srq *srq; /* or NULL */
	enum hca_wq_state state;
	uint32_t flags;
	uint8_t stride_shift, strides_shift;
	uint8_t self_lb; /* enum hca_self_lb */
	bool two_byte_shift;
	uint32_t wqn;
	uint32_t user_index;
	void *user;
	/* under the receive lock */
	uint32_t taken;    /* entries consumed, free running */
	uint32_t stride;   /* next one in the entry at `taken` */
	uint64_t starved;  /* since when there has been no entry; 0: there was one */
	uint64_t received; /* frames, and those without an entry to go to */
	uint64_t dropped;
	struct hca_counters *counters; /* or NULL */
	struct hca_wq *starving_next;
	struct hca_wq *pending_next;
	unsigned int pending;
	struct hca_cqe cqe[HCA_WQ_BATCH];
};

VB_API int hca_wq_create(const struct hca_wq_init *init, struct hca_wq **out);
/* -EBUSY while a table or a rule has it. After it returns nothing touches ring or CQ. */
VB_API int hca_wq_destroy(struct hca_wq *wq);

/* The parts of both that a raw packet QP uses for its own receive queue. */
void hca_wq_init(struct hca_wq *wq, const struct hca_wq_init *init);
void hca_wq_fini(struct hca_wq *wq);

/* -EINVAL for a change that there is not; RESET empties the queue, ERR flushes it. */
VB_API int hca_wq_modify(struct hca_wq *wq, enum hca_wq_state state);
/* How many entries were taken since the reset; the state is another one when something failed. */
VB_API enum hca_wq_state hca_wq_progress(struct hca_wq *wq, uint32_t *taken);
/* As hca_qp_set_counters(). */
VB_API void hca_wq_set_counters(struct hca_wq *wq, struct hca_counters *counters);
VB_API void hca_wq_set_vlan_stripping(struct hca_wq *wq, bool on);

/* After entries were posted: in the error state they are flushed at once. */
VB_API void hca_wq_flush_posted(struct hca_wq *wq);

static inline void hca_wq_doorbell(struct hca_wq *wq)
{
	/* [Q1] as hca_rq_doorbell(): either we see the state, or the flush what was posted */
	atomic_thread_fence(memory_order_seq_cst);
	if (unlikely(__atomic_load_n(&wq->state, __ATOMIC_RELAXED) == HCA_WQS_ERR))
		hca_wq_flush_posted(wq);
}

/* ---- the adapter's own ---- */

/* A batch; they nest. Inside an epoch section. */
void hca_rx_begin(void);
void hca_rx_end(void);
/*
 * True while some queue has just run out of entries: who can hold frames back does so for a moment,
 * as an adapter pauses its link. Within a batch.
 */
bool hca_rx_is_starved(void);
void hca_rx_forked(void);

/* Takes the frame in, unless the queue is not ready or has no entry. Within a batch. */
void hca_wq_receive(struct hca_wq *wq, struct ether_frame *frame);

#endif
