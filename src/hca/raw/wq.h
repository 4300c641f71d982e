/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Work queues: receive queues for Ethernet frames. A work queue is a verbs object of its own
 * (ibv_create_wq(), reached through an indirection table, rss.h), or the receive queue of one raw
 * packet QP (raw.h).
 *
 * Frames arrive in batches between wq_rx_begin() and wq_rx_end(). A batch holds the receive lock,
 * one for the whole process, which also guards the states and positions of all work queues; the
 * completions of a batch are written at its end. Lock order: QP, receive lock, CQ.
 */
#ifndef HCA_WQ_H
#define HCA_WQ_H

#include <sys/queue.h>

#include "ether/frame.h"
#include "hca/device/counters.h"
#include "hca/device/format.h"
#include "hca/memory/pd.h"
#include "hca/queue/cq.h"
#include "hca/queue/srq.h"

/* Values of enum ibv_wq_state. */
enum hca_wq_state {
	HCA_WQS_RESET,
	HCA_WQS_RDY,
	HCA_WQS_ERR,
};

/* Bits of enum ibv_wq_flags. */
enum hca_wq_flags {
	HCA_WQF_CVLAN_STRIPPING = 1 << 0,
	HCA_WQF_SCATTER_FCS = 1 << 1,
	HCA_WQF_DELAY_DROP = 1 << 2,
	HCA_WQF_END_PADDING = 1 << 3,
};

/* Loopback of frames of the queue's own context; off by default. */
enum hca_self_lb {
	HCA_SELF_LB_UNICAST = 1 << 0,
	HCA_SELF_LB_MULTICAST = 1 << 1,
};

struct hca_wq_init {
	struct hca_pd *pd;
	struct hca_cq *cq;
	const struct hca_format *format;
	struct hca_rq_ring ring;
	struct hca_srq *srq; /* or NULL; with one, entries come from it and `ring` is not used */
	uint32_t flags;
	/* multi-packet queue: log2 of bytes per stride and of strides per entry; else 0 and 0 */
	uint8_t stride_shift, strides_shift;
	bool two_byte_shift; /* frames start two bytes into their first stride */
	uint32_t user_index;
	void *user; /* element of asynchronous events; NULL: no events */
};

#define HCA_WQ_BATCH 16u /* completions that a queue collects before it writes them */

struct hca_wq {
	struct ether_dest dest; /* its users are flow rules and indirection table entries */
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
	uint32_t taken;                /* entries consumed, free running */
	uint32_t stride;               /* next free stride of the entry at `taken` */
	uint64_t empty_since_ns;       /* 0: the queue had an entry when last looked at */
	bool is_pausing;               /* in the list of pausing queues */
	uint64_t received;             /* frames */
	uint64_t dropped;              /* frames that found no entry */
	struct hca_counters *counters; /* or NULL */
	LIST_ENTRY(hca_wq) pausing_entry;
	LIST_ENTRY(hca_wq) pending_entry; /* valid while `pending` is not 0 */
	unsigned int pending;             /* completions in `cqe` */
	struct hca_cqe cqe[HCA_WQ_BATCH];
};

VB_API int hca_wq_create(const struct hca_wq_init *init, struct hca_wq **out);
/* -EBUSY while a table or a rule uses it. Afterwards the adapter does not touch ring and CQ. */
VB_API int hca_wq_destroy(struct hca_wq *wq);

/* For the receive queue of a raw packet QP, whose memory and number are the QP's. */
void hca_wq_init(struct hca_wq *wq, const struct hca_wq_init *init);
void hca_wq_fini(struct hca_wq *wq);

/* -EINVAL for a transition that does not exist. RESET empties the queue, ERR flushes it. */
VB_API int hca_wq_modify(struct hca_wq *wq, enum hca_wq_state state);
/* *taken: entries consumed since the reset. The state is ERR after a receive has failed. */
VB_API enum hca_wq_state hca_wq_progress(struct hca_wq *wq, uint32_t *taken);
/* As hca_qp_set_counters(). */
VB_API void hca_wq_set_counters(struct hca_wq *wq, struct hca_counters *counters);
VB_API void hca_wq_set_vlan_stripping(struct hca_wq *wq, bool on);

/* Flushes entries that were posted in the error state. */
VB_API void hca_wq_flush_posted(struct hca_wq *wq);

/* For drivers, after entries were posted. */
static inline void hca_wq_doorbell(struct hca_wq *wq)
{
	/* [WQ1] pairs with enter_error(): either this thread sees ERR, or the flush the entries */
	atomic_thread_fence(memory_order_seq_cst);
	if (unlikely(__atomic_load_n(&wq->state, __ATOMIC_RELAXED) == HCA_WQS_ERR))
		hca_wq_flush_posted(wq);
}

/* ---- for the adapter only ---- */

/* A batch of received frames. Batches of one thread nest. Inside an epoch section. */
void wq_rx_begin(void);
void wq_rx_end(void);
/*
 * True while a queue has run out of entries a moment ago: frames that can stay in their link or
 * socket stay there, as an adapter pauses its Ethernet link. Within a batch.
 */
bool wq_rx_is_paused(void);

/*
 * Writes the frame into the next entry; drops it when the queue is not ready or has no entry.
 * `self_lb`: loopback that is allowed. Within a batch.
 */
void hca_wq_receive(struct hca_wq *wq, struct ether_frame *frame, uint8_t self_lb);

#endif
