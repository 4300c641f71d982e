/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The driver's objects. Each starts with the part that both drivers share (src/driver), which starts
 * with the part that the library knows (verbs/objects.h).
 *
 * Locks, outermost first: a QP's adapter lock (hca_qp.lock) for the send queue; drv_rq.lock or
 * drv_srq.lock for receive queues; a CQ's lock for its consumer side. Inside a CQ's lock only an
 * SRQ's is taken. The adapter is never called with a receive queue's or a CQ's lock held.
 */
#ifndef MLX5_OBJECTS_H
#define MLX5_OBJECTS_H

#include <stdatomic.h>
#include <sys/queue.h>

#include "driver/cq.h"
#include "driver/qp.h"
#include "driver/srq.h"
#include "mlx5/table.h"
#include "mlx5/wqe.h"
#include "verbs/memory.h"

#define MLX5_PAGE_SIZE 4096u

/* A UAR page: CQ doorbells at its start, then a pair of BlueFlame registers. */
#define MLX5_UAR_BF_OFFSET 0x800u
#define MLX5_UAR_BF_SIZE   0x100u

struct hca_cq_alias;
struct hca_login;
struct hca_psv;
struct hca_uar;

/* A QP number of mlx5dv_reserved_qpn_alloc(). */
struct mlx5_reserved_qpn {
	uint32_t qpn;
	LIST_ENTRY(mlx5_reserved_qpn) link;
};

struct mlx5_context {
	struct vb_context *vb;
	bool ethernet;
	uint8_t min_inline;  /* bytes of a frame that must lie in its WQE */
	uint32_t privileges; /* enum mlx5_privilege; constant once the device is open */
	struct hca_uar *uar;
	uint8_t *uar_page;
	struct devx *devx; /* mlx5/devx_types.h */
	struct mlx5_table table;
	struct vb_memory memory;
	LIST_HEAD(, mlx5_reserved_qpn) reserved; /* mlx5_state.lock */
	struct hca_login *login;                 /* of mlx5dv_crypto_login(); mlx5_state.lock */
	LIST_HEAD(, mlx5_sig) signatures;        /* mlx5_state.lock */
};

static inline struct mlx5_context *mlx5_ctx(struct vb_context *ctx)
{
	return ctx->driver_data;
}

static inline struct mlx5_context *mlx5_ctx_of(struct ibv_context *context)
{
	return mlx5_ctx(to_context(context));
}

struct mlx5_cq {
	struct drv_cq base; /* base.last: struct mlx5_rsc */
	uint8_t request;    /* mlx5_slot.request of the CQE at the cursor */
	bool tag_sync;      /* the CQE at the cursor asks for IBV_WR_TAG_SYNC */
	bool wallclock;     /* IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK */
	struct mlx5_context *ctx;
	struct mlx5dv_clock_info clock; /* for wall clock times, as of ibv_start_poll() */
	struct hca_cq_alias *alias;     /* the mapping that a program polls itself, or NULL */
};

struct mlx5_srq {
	struct drv_srq base;
	struct mlx5_rsc rsc;
	struct mlx5_cq *cq;     /* of an XRC or tag matching receive queue */
	struct mlx5_tags *tags; /* of a tag matching queue (tag.c), or NULL */
	struct mlx5_context *ctx;
};

/* The decoded result of a completed request, beside the CQE itself. */
struct mlx5_completion {
	uint64_t wr_id;
	enum ibv_wc_status status;
	uint8_t request; /* mlx5_slot.request of a send */
};

/* The driver's record of a posted send, at the block where its WQE starts. */
struct mlx5_slot {
	uint64_t wr_id;
	uint32_t head;   /* requests posted before it */
	uint8_t request; /* an ibv_wc_opcode where the WQE's opcode is ambiguous, else 0 */
};

struct mlx5_sq {
	uint8_t *buf, *end;
	uint32_t mask;         /* blocks, less one */
	uint32_t post;         /* next block, free running */
	uint32_t head;         /* requests posted */
	_Atomic uint32_t tail; /* requests completed; written under the CQ's lock */
	uint32_t max_post;
	uint32_t max_inline;
	int max_sge;
	uint16_t refused; /* bits of ibv_wr_opcode that the QP's type or WQE size does not allow */
	uint8_t signal_bits; /* of fm_ce_se, when the QP signals all requests */
	uint16_t max_tso_header;
	uint8_t fence_next; /* bits of fm_ce_se for the next request: the last one changed a key */
	struct mlx5_slot *slots;
};

/* A chain between ibv_wr_start() and ibv_wr_complete(); the WQE under construction is open. */
struct mlx5_chain {
	struct mlx5_wqe_ctrl_seg *ctrl; /* of the open WQE, or NULL */
	uint8_t *data;                  /* next data segment */
	uint32_t ds;                    /* its length so far, in 16-byte units */
	uint32_t count;                 /* WQEs closed */
	uint32_t inline_missing;        /* bytes still missing in the Ethernet segment */
	uint32_t first;                 /* sq.post at the start, restored on failure */
	uint8_t fence;                  /* sq.fence_next at the start, restored on failure */
	uint8_t setters;                /* while a key is configured: setters still to be called */
	int err;
	struct mlx5_mkey *mkey; /* the key that is being configured */
};

/* The signatures of a key; src/mlx5/sig.c. */
struct mlx5_sig {
	struct hca_psv *memory, *wire;
	struct hca_sig_conf conf; /* no signatures: nothing is configured, or it was reset */
	bool is_set;              /* by the request that is being built */
	/* mlx5_state.lock */
	uint32_t key;
	bool has_error; /* and the program has not asked for it */
	struct mlx5dv_mkey_err error;
	uint8_t errors;      /* that have come, and the first configuration */
	bool errors_changed; /* since the last configuration */
	LIST_ENTRY(mlx5_sig) link;
};

/* The encryption of a key; src/mlx5/wr_crypto.c. */
struct mlx5_crypto {
	struct hca_crypto_conf conf;
	bool configured;
	bool is_set; /* by the request that is being built */
};

/* An indirect key; src/mlx5/mkey.c. */
struct mlx5_mkey {
	struct mlx5dv_mkey dv;
	struct hca_mkey *hca;
	struct mlx5_sig *sig;       /* or NULL */
	struct mlx5_crypto *crypto; /* or NULL */
	uint64_t length;            /* of its layout */
};

static inline struct mlx5_mkey *to_mkey(struct mlx5dv_mkey *mkey)
{
	return container_of(mkey, struct mlx5_mkey, dv);
}

struct mlx5_qp {
	struct drv_qp base;
	struct mlx5_rsc rsc;
	volatile uint32_t *db; /* [MLX5_RCV_DBR], [MLX5_SND_DBR] */
	struct mlx5_sq sq;
	struct mlx5_chain chain;
	struct mlx5_context *ctx;
	struct mlx5dv_qp_ex dv;             /* direct verbs that build chains */
	struct mlx5dv_sched_leaf *sched[2]; /* of requests and responses; mlx5_state.lock */
};

struct mlx5_wq {
	struct drv_wq base;
	struct drv_rq rq;
	struct mlx5_rsc rsc;
	uint32_t strides; /* of a WQE; 0: each WQE takes one frame */
	uint32_t used;    /* strides of the oldest WQE that completed; under the CQ's lock */
	struct mlx5_cq *cq;
	struct mlx5_context *ctx;
	struct drv_ring ring;
};

static inline struct mlx5_cq *to_mcq(struct ibv_cq *cq)
{
	return container_of(cq, struct mlx5_cq, base.vb.cq);
}

static inline struct mlx5_srq *to_msrq(struct ibv_srq *srq)
{
	return container_of(srq, struct mlx5_srq, base.vb.srq);
}

static inline struct mlx5_qp *to_mqp(struct ibv_qp *qp)
{
	return container_of(qp, struct mlx5_qp, base.vb.qp);
}

static inline struct mlx5_qp *to_mqp_ex(struct ibv_qp_ex *qp)
{
	return container_of(qp, struct mlx5_qp, base.vb.ex);
}

static inline struct mlx5_qp *to_mqp_dv(struct mlx5dv_qp_ex *dv)
{
	return container_of(dv, struct mlx5_qp, dv);
}

static inline struct mlx5_wq *to_mwq(struct ibv_wq *wq)
{
	return container_of(wq, struct mlx5_wq, base.vb.wq);
}

#endif
