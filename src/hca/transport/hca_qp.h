/* SPDX-License-Identifier: BSD-2-Clause */
/* Queue pairs as drivers use them: types. qp.h has the calls, qp_types.h the inside. */
#ifndef HCA_HCA_QP_H
#define HCA_HCA_QP_H

#include <sys/queue.h>

#include "fabric/lock.h"
#include "hca/device/counters.h"
#include "hca/device/format.h"
#include "hca/memory/pd.h"
#include "hca/queue/cq.h"
#include "hca/queue/srq.h"

struct hca_ind_table;
struct hca_rss;
struct hca_wq;

/* Numbers as enum ibv_qp_type has them. */
enum hca_qp_type {
	HCA_QP_RC = 2,
	HCA_QP_UC = 3,
	HCA_QP_UD = 4,
	HCA_QP_RAW = 8,
	HCA_QP_XRC_SEND = 9,
	HCA_QP_XRC_RECV = 10,
	/* not in enum ibv_qp_type, which has IBV_QPT_DRIVER for these */
	HCA_QP_DCI = 11, /* dynamically connected: the end that sends */
	HCA_QP_DCT = 12, /* the end that initiators address */
	HCA_QP_DCR = 13, /* inside the adapter: a target's end of one initiator's session */
};

/* Numbers as enum ibv_qp_state has them. */
enum hca_qp_state {
	HCA_QPS_RESET,
	HCA_QPS_INIT,
	HCA_QPS_RTR,
	HCA_QPS_RTS,
	HCA_QPS_SQD,
	HCA_QPS_SQE,
	HCA_QPS_ERR,
};

/* Attribute bits as enum ibv_qp_attr_mask has them. */
enum hca_qp_mask {
	HCA_QPM_STATE = 1 << 0,
	HCA_QPM_CUR_STATE = 1 << 1,
	HCA_QPM_EN_SQD_NOTIFY = 1 << 2,
	HCA_QPM_ACCESS = 1 << 3,
	HCA_QPM_PKEY_INDEX = 1 << 4,
	HCA_QPM_PORT = 1 << 5,
	HCA_QPM_QKEY = 1 << 6,
	HCA_QPM_AV = 1 << 7,
	HCA_QPM_PATH_MTU = 1 << 8,
	HCA_QPM_TIMEOUT = 1 << 9,
	HCA_QPM_RETRY_CNT = 1 << 10,
	HCA_QPM_RNR_RETRY = 1 << 11,
	HCA_QPM_RQ_PSN = 1 << 12,
	HCA_QPM_MAX_RD_ATOMIC = 1 << 13,
	HCA_QPM_ALT_PATH = 1 << 14,
	HCA_QPM_MIN_RNR_TIMER = 1 << 15,
	HCA_QPM_SQ_PSN = 1 << 16,
	HCA_QPM_MAX_DEST_RD_ATOMIC = 1 << 17,
	HCA_QPM_PATH_MIG_STATE = 1 << 18,
	HCA_QPM_CAP = 1 << 19,
	HCA_QPM_DEST_QPN = 1 << 20,
	HCA_QPM_RATE_LIMIT = 1 << 25,
};

struct hca_qp_attr {
	enum hca_qp_state state;
	enum hca_qp_state cur_state;
	uint8_t path_mtu; /* enum: 1 = 256 ... 5 = 4096 */
	uint8_t path_mig_state;
	uint32_t qkey;
	uint32_t rq_psn;
	uint32_t sq_psn;
	uint32_t dest_qpn;
	uint32_t access; /* remote bits of enum hca_access */
	struct hca_av av;
	struct hca_av alt_av;
	uint16_t pkey_index;
	uint16_t alt_pkey_index;
	uint8_t en_sqd_notify;
	uint8_t sq_draining;
	uint8_t max_rd_atomic;
	uint8_t max_dest_rd_atomic;
	uint8_t min_rnr_timer;
	uint8_t port;
	uint8_t timeout;
	uint8_t retry_cnt;
	uint8_t rnr_retry;
	uint8_t alt_port;
	uint8_t alt_timeout;
	uint32_t rate_limit; /* of raw packets, kbit/s; 0: as fast as may be */
	uint32_t burst;      /* bytes that may go out at once then; 0: as the adapter likes */
	uint8_t lag_port;    /* the affinity to a bonded link (device/lag.h); 0: none */
};

#define HCA_RATE_LEAST 1u
#define HCA_RATE_MOST  100000000u

/* The affinity of a queue pair to a bonded link is that of each frame's flow. */
#define HCA_LAG_BY_FLOW 0xffu

struct hca_qp_init {
	enum hca_qp_type type;
	uint8_t lag; /* affinity to a bonded link, or HCA_LAG_BY_FLOW; 0: links take turns */
	struct hca_ctx *ctx;
	struct hca_pd *pd;      /* NULL for XRC receive */
	struct hca_cq *send_cq; /* NULL for XRC receive */
	struct hca_cq *recv_cq; /* NULL for XRC */
	struct hca_srq *srq;
	uint32_t xrcd;   /* XRC receive */
	uint64_t dc_key; /* DCT: what initiators have to know */
	/* DCI: requests belong to streams, of which fewer than 2^this may fail before all do */
	bool dci_streams;
	uint8_t dci_log_errored;
	const struct hca_format *format;
	struct hca_sq_ring sq;
	struct hca_rq_ring rq;
	bool sig_all;
	bool block_self_mcast; /* UD: its own multicasts are not for it */
	bool out_of_order;     /* packets may arrive in any order (reorder.h) */
	/* raw packets: flags of the receive queue, or a hash over a table instead of one */
	uint32_t wq_flags;
	uint8_t self_lb; /* enum hca_self_lb */
	struct hca_ind_table *ind_table;
	uint32_t rss_fields;    /* enum ether_rss */
	const uint8_t *rss_key; /* 40 bytes */
	uint32_t user_index;
	void *user;
};

/* The part that drivers' hot paths touch; the rest of struct hca_qp is private. */
struct hca_qp {
	struct fabric_lock lock; /* everything of the QP; drivers hold it while they write the SQ */
	enum hca_qp_type type;
	enum hca_qp_state state; /* written under the lock */
	uint32_t qpn;
	const struct hca_format *format;
	struct hca_sq_ring sq;
	struct hca_rq_ring rq;
	struct hca_ctx *ctx;
	struct hca_cq *send_cq, *recv_cq;
	struct hca_srq *srq;
	bool sig_all;
	uint8_t lag; /* as in hca_qp_init */
	bool block_self_mcast;
	bool out_of_order; /* under the lock */
	uint32_t user_index;
	/* Together in 16 bytes, which are in one cache line: each message that is received looks at both. */
	struct hca_pd *pd;
	void *checked; /* the checker's (device/checker.h), or NULL */
	void *user;
	struct hca_wq *wq;             /* raw packets: the receive queue, */
	struct hca_rss *rss;           /* or the hash */
	struct hca_counters *counters; /* or NULL; under the lock */
	/* Optional, for captures: the ids of requests by their counter, stride and mask in entries. */
	const void *wr_ids;
	uint32_t wr_id_mask;
	uint16_t wr_id_stride;
	bool stop_on_sig_error; /* set by the driver: a wrong signature drains the send queue */
	/*
	 * Optional, for viewers: requests that the driver has posted (under the lock), and of those the ones whose
	 * completions, or later ones, the program has polled; free running. At most `sq_most` lie between.
	 */
	uint32_t sq_most;
	const uint32_t *sq_posted;
	const _Atomic uint32_t *sq_polled;
};

/* Progress of the adapter: first ring entries that it has not taken, and PSN and MSN. */
struct hca_qp_progress {
	uint32_t send_index, recv_index;
	uint32_t
		acked_psn; /* of the last packet that was acknowledged; one before the first: none */
	uint32_t msn;      /* requests of the peer that are complete */
};

/*
 * A handle on an XRC receive queue pair: each hears its events, in its own context, with
 * itself as the element. The struct is its owner's, and stays until unlisten.
 */
struct hca_listener {
	LIST_ENTRY(hca_listener) entry;
	struct hca_async *async;
	void *user;
};

#endif
