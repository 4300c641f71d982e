/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The checker's side of queues: requests that are outstanding, and how many completions a CQ may get.
 *
 * Locks: `lock` of a queue pair or SRQ guards its rings, and is held while a request is handed to the driver, so
 * that the order here is that of the queue. A thread holds one of them at a time, or check.queue_lock and then
 * one of them.
 */
#ifndef CHECK_QUEUE_H
#define CHECK_QUEUE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>

#include "check/request.h"
#include "hca/device/counters.h"
#include "util/hash.h"
#include "verbs/objects.h"

#define CHECK_RECENT 16

struct check_cq {
	LIST_ENTRY(check_cq) entry;
	struct vb_cq *cq;
	const struct check_place *created;
	uint32_t flags;     /* of creation */
	atomic_int pending; /* completions that outstanding requests will bring */
	atomic_int poller;  /* the thread that polls */
	struct check_qp *_Atomic recent[CHECK_RECENT]; /* of completions, by number of the QP */
	const struct check_place *_Atomic armed_late;  /* armed with completions in the queue */
	atomic_int fetcher;                            /* the thread that fetched the last event */
	/* the driver's */
	int (*start_poll)(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr);
	int (*next_poll)(struct ibv_cq_ex *cq);
	void (*end_poll)(struct ibv_cq_ex *cq);
};

/* Attributes that two ends have to agree on. */
struct check_ends {
	bool known; /* it was moved to RTR */
	uint32_t dest_qpn;
	uint8_t max_rd_atomic, max_dest_rd_atomic;
};

/* A send queue that the program writes itself (raw_ring.h). Under the adapter's lock of the QP. */
struct check_raw {
	uint8_t *copy; /* of the ring, as the adapter found it; NULL: not looked at yet */
	uint32_t seen; /* slot behind the last one that was copied */
	/* the doorbell register, NULL: unknown; its two words when it was given out, or after a reset */
	const uint64_t *reg[2];
	uint64_t reg_old[2];
	atomic_bool restarted; /* the QP was reset; without the lock */
	uint64_t
		unrecorded_since_ns; /* the register has a request that the doorbell record has not; 0: none */
	/* the slot that is missing while the next one is there; 0: none */
	uint64_t missing_since_ns;
	uint32_t missing;
};

struct check_qp {
	LIST_ENTRY(check_qp) entry;
	struct hash_link link; /* in check.qp_numbers */
	pthread_mutex_t lock;
	struct vb_qp *qp; /* NULL: destroyed */
	const struct hca_adapter *adapter;
	uint32_t number;
	struct check_cq *send_cq, *recv_cq;
	struct check_srq *srq;
	struct vb_td *td; /* NULL: none */
	const struct vb_pd *pd;
	struct check_region_cache send_region, recv_region;
	uint32_t max_inline; /* as granted */
	bool sig_all;
	bool datagrams; /* UD */
	bool lost;  /* requests that the checker does not see are posted here: nothing is told */
	bool alive; /* its requests may still be executed */
	struct check_ring send, recv;
	uint32_t recv_base; /* index of the first receive since the last reset */
	struct check_raw raw;
	const struct check_place *created;
	uint32_t unsignaled; /* newest sends in a row without a completion to come */
	uint32_t reads_end;  /* index behind the newest read or atomic in `send` */
	uint32_t fewest;     /* receives that were left at the worst moment */
	uint64_t received;
	struct hca_counters *counters; /* of errors; NULL: no memory */
	struct check_ends ends;
	/* ibv_wr_*: requests between ibv_wr_start() and ibv_wr_complete(), and the driver's functions */
	const struct check_place *batch_place;
	uint32_t batch;
	bool batch_in_td; /* thread.h */
	struct ibv_qp_ex driver;
};

struct check_srq {
	LIST_ENTRY(check_srq) entry;
	pthread_mutex_t lock;
	struct vb_srq *srq;
	struct check_cq *cq; /* of its queue pairs; NULL: none yet, or different ones */
	bool several;
	struct check_ring recv;
	struct check_region_cache region;
	uint64_t received;
	uint32_t fewest; /* receives that were left at the worst moment */
	/* of queue pairs that are destroyed: messages that found none, and the limit that was armed then */
	atomic_uint dry;
	atomic_uint limit;
};

void check_cq_created(struct vb_cq *cq, uint32_t flags);
void check_cq_destroyed(struct vb_cq *cq);
void check_srq_created(struct vb_srq *srq);
void check_srq_destroyed(struct vb_srq *srq);
void check_qp_created(struct vb_qp *qp, const void *driver_attr);
void check_qp_destroyed(struct vb_qp *qp);
/* Forgets what is outstanding: RESET. The caller holds the QP's lock. */
void check_qp_forget(struct check_qp *q);
/* NULL: unknown. A struct stays valid memory after the QP is destroyed. */
struct check_qp *check_qp_find(const struct hca_adapter *adapter, uint32_t number);

/* By another request, the adapter may have written to the bytes of `r`, or read them, since its post; or that is not known. */
bool check_queues_used(const struct check_request *r, bool read);
/* Calls for each outstanding request of the process, with the queue's lock held, until one returns true. */
bool check_queues_each(bool (*fn)(const struct check_qp *qp, const struct check_request *r,
				  void *arg),
		       void *arg);

#endif
