/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The driver's objects. Each starts with what the library knows (verbs/objects.h) and adds its
 * ring in memory and what polling needs.
 *
 * Locks, outermost first: a QP's adapter lock (hca_qp.lock) for the send queue; rq_lock of a QP or
 * lock of an SRQ for receive queues; a CQ's lock for its consumer side. Nothing is taken inside a
 * CQ's lock but an SRQ's. The adapter is never called with rq_lock or a CQ's lock held.
 */
#ifndef MLX5_MLX5_H
#define MLX5_MLX5_H

#include <endian.h>
#include <stdatomic.h>
#include <sys/queue.h>

#include "hca/queue/cq.h"
#include "mlx5/table.h"
#include "mlx5/wqe.h"
#include "verbs/driver.h"
#include "verbs/memory.h"

#define MLX5_PAGE_SIZE 4096u

/* A UAR page: CQ doorbells at its start, then a pair of BlueFlame registers. */
#define MLX5_UAR_BF_OFFSET 0x800u
#define MLX5_UAR_BF_SIZE   0x100u

/* A QP number of mlx5dv_reserved_qpn_alloc(). */
struct mlx5_reserved_qpn {
	uint32_t qpn;
	LIST_ENTRY(mlx5_reserved_qpn) link;
};

struct mlx5_context {
	struct vb_context *vb;
	bool ethernet;
	uint8_t min_inline; /* bytes of a frame that must lie in its entry */
	uint8_t *uar;       /* the page of `bells` */
	struct hca_uar *bells;
	struct devx *devx; /* devx.h; NULL until the context is opened for it */
	struct mlx5_table table;
	struct vb_memory memory;
	LIST_HEAD(, mlx5_reserved_qpn) reserved; /* mlx5_state.lock */
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
	struct vb_cq vb;
	struct fabric_lock lock; /* everything below, and the entries between ci and the adapter */
	bool unlocked;           /* IBV_CREATE_CQ_ATTR_SINGLE_THREADED */
	_Atomic bool more;       /* the last poll may have left entries: see verbs/poll.h */
	bool raw;                /* handed out by mlx5dv_init_obj: the program consumes */
	bool wallclock;
	uint8_t entry_shift;
	uint32_t mask; /* entries, less one */
	uint32_t ci;   /* free running */
	uint32_t arm_sn;
	uint8_t *entries; /* of the first entry's 64 bytes that count */
	volatile uint32_t *db;
	struct mlx5_rsc *last; /* of the last entry taken, to save a look-up */
	/* the cursor of ibv_start_poll() */
	const struct mlx5_cqe64 *cqe;
	uint8_t request; /* what the send queue noted about the request, see mlx5_slot */
	struct mlx5dv_clock_info clock;
	struct mlx5_context *ctx;
	struct vb_buf buf, record;
	struct hca_cq_alias *view; /* the ring as the program polls it, if it has one of its own */
};

struct mlx5_srq {
	struct vb_srq vb;
	struct mlx5_rsc rsc;
	struct fabric_lock lock; /* everything below */
	uint8_t shift;           /* of an entry's bytes */
	uint16_t head, tail;     /* first and last free entry; never equal while one is free */
	uint16_t counter;        /* posted, free running */
	int max_sge;
	uint32_t size;
	uint8_t *entries;
	volatile uint32_t *db;
	uint64_t *wr_ids;
	struct mlx5_cq *cq; /* of an XRC queue; constant, as are the three before */
	struct mlx5_context *ctx;
	struct vb_buf buf, record;
};

/* What the driver keeps of a posted send, at the block where its entry starts. */
struct mlx5_slot {
	uint64_t wr_id;
	uint32_t head;   /* requests posted before it */
	uint8_t request; /* an ibv_wc_opcode where the entry's opcode does not say, else 0 */
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
	uint16_t refused;    /* bits of ibv_wr_opcode that this queue has no room for, or nobody */
	uint8_t signal_bits; /* for every request, when the QP signals all */
	uint16_t max_tso_header;
	uint8_t fence_next; /* for the next request: the last one changed a key */
	struct mlx5_slot *slots;
};

struct mlx5_rq {
	uint8_t *buf;
	uint32_t mask;
	uint32_t head;
	_Atomic uint32_t tail; /* written under the CQ's lock */
	uint32_t max_post;
	int max_sge;
	uint8_t shift;
	uint64_t *wr_ids;
};

/* A chain between ibv_wr_start() and ibv_wr_complete(); the entry under construction is open. */
struct mlx5_chain {
	struct mlx5_wqe_ctrl_seg *ctrl; /* of the open entry, NULL: none */
	uint8_t *data;                  /* where its data goes */
	uint32_t ds;                    /* its length so far */
	uint32_t count;
	uint32_t owed;  /* bytes of data that have to go into the Ethernet segment */
	uint32_t first; /* block to go back to */
	uint8_t fence;  /* to go back to */
	int err;
	/* while a key is configured */
	const struct mlx5_mkey *mkey;
	uint8_t setters; /* still to come */
};

/* An indirect key; src/mlx5/mkey.c. */
struct mlx5_mkey {
	struct mlx5dv_mkey dv;
	struct hca_mkey *hca;
};

static inline struct mlx5_mkey *to_mkey(struct mlx5dv_mkey *mkey)
{
	return container_of(mkey, struct mlx5_mkey, dv);
}

struct mlx5_qp {
	struct vb_qp vb;
	struct mlx5_rsc rsc;
	uint32_t qpn;
	uint8_t type; /* enum hca_qp_type */
	bool rss;     /* hashes over a table, and has no rings */
	volatile uint32_t *db;
	struct mlx5_sq sq;
	struct mlx5_chain chain;
	struct fabric_lock rq_lock; /* rq, but for its tail */
	struct mlx5_rq rq;
	struct mlx5_srq *srq;
	struct mlx5_cq *send_cq, *recv_cq;
	struct mlx5_context *ctx;
	struct vb_buf buf, record;
	struct mlx5dv_qp_ex dv;             /* the driver's own part of building chains */
	struct mlx5dv_sched_leaf *sched[2]; /* of requests and answers; mlx5_state.lock */
};

struct mlx5_wq {
	struct vb_wq vb;
	struct mlx5_rsc rsc;
	struct fabric_lock lock; /* rq, but for its tail */
	struct mlx5_rq rq;
	uint32_t strides; /* of an entry; 0: each entry takes one frame */
	uint32_t used;    /* strides of the oldest entry that completed; under the CQ's lock */
	volatile uint32_t *db;
	struct mlx5_cq *cq;
	struct mlx5_context *ctx;
	struct vb_buf buf, record;
};

static inline struct mlx5_cq *to_mcq(struct ibv_cq *cq)
{
	return container_of(cq, struct mlx5_cq, vb.cq);
}

static inline struct mlx5_srq *to_msrq(struct ibv_srq *srq)
{
	return container_of(srq, struct mlx5_srq, vb.srq);
}

static inline struct mlx5_qp *to_mqp(struct ibv_qp *qp)
{
	return container_of(qp, struct mlx5_qp, vb.qp);
}

static inline struct mlx5_qp *to_mqp_ex(struct ibv_qp_ex *qp)
{
	return container_of(qp, struct mlx5_qp, vb.ex);
}

static inline struct mlx5_qp *to_mqp_dv(struct mlx5dv_qp_ex *dv)
{
	return container_of(dv, struct mlx5_qp, dv);
}

/* [M1] pairs with format.c: entries before the index that hands them over */
static inline void mlx5_record_store(volatile uint32_t *db, uint32_t value)
{
	__atomic_store_n(db, htobe32(value), __ATOMIC_RELEASE);
}

/* cq.c */
/* driver_attr: struct mlx5dv_cq_init_attr of mlx5dv_create_cq(), or NULL. */
int mlx5_create_cq(struct vb_context *ctx, struct ibv_cq_init_attr_ex *attr,
		   const void *driver_attr, struct vb_cq **out);
int mlx5_resize_cq(struct vb_cq *cq, int entries);
int mlx5_destroy_cq(struct vb_cq *cq);
int mlx5_arm_cq(struct ibv_cq *cq, int solicited);
void mlx5_cq_event(struct vb_cq *cq);
/* From now on entries carry the adapter's clock. */
void mlx5_cq_stamp(struct mlx5_cq *cq);
void mlx5_cq_view(struct mlx5_cq *cq);
/* Takes the entries of a resource out of the ring, and gives back what they hold of the SRQ. */
void mlx5_cq_purge(struct mlx5_cq *cq, struct mlx5_rsc *rsc, struct mlx5_srq *srq);

/* poll.c, cqex.c */
int mlx5_poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *wc);
void mlx5_cq_fill_ex(struct mlx5_cq *cq, uint64_t wc_flags);

/* srq.c */
int mlx5_create_srq(struct vb_context *ctx, struct ibv_srq_init_attr_ex *attr, struct vb_srq **out);
int mlx5_destroy_srq(struct vb_srq *srq);
int mlx5_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int mlx5_get_srq_num(struct ibv_srq *srq, uint32_t *number);
void mlx5_srq_free_entry(struct mlx5_srq *srq, uint16_t index);

/* qp.c */
static inline bool mlx5_is_dct(const struct mlx5dv_qp_init_attr *attr)
{
	return attr->comp_mask & MLX5DV_QP_INIT_ATTR_MASK_DC &&
	       attr->dc_init_attr.dc_type == MLX5DV_DCTYPE_DCT;
}

/* driver_attr: struct mlx5dv_qp_init_attr of mlx5dv_create_qp(), or NULL. */
int mlx5_check_driver_qp(const void *driver_attr);
int mlx5_create_qp(struct vb_context *ctx, struct ibv_qp_init_attr_ex *attr, void *driver_attr,
		   struct vb_qp **out);
int mlx5_destroy_qp(struct vb_qp *qp);
int mlx5_open_qp(struct vb_context *ctx, struct hca_qp *hca, struct vb_qp **out);
void mlx5_reset_qp(struct vb_qp *qp);

/* wq.c */
#define MLX5_STRIDE_LOG_LEAST  6
#define MLX5_STRIDE_LOG_MOST   13
#define MLX5_STRIDES_LOG_LEAST 3
#define MLX5_STRIDES_LOG_MOST  16
/* The work queue of the context with this number, or NULL. */
struct hca_wq *mlx5_wq_find(struct mlx5_context *ctx, uint32_t number);
/* driver_attr: struct mlx5dv_striding_rq_init_attr of mlx5dv_create_wq(), or NULL. */
int mlx5_create_wq(struct vb_context *ctx, struct ibv_wq_init_attr *attr, const void *driver_attr,
		   struct vb_wq **out);
int mlx5_destroy_wq(struct vb_wq *wq);
void mlx5_reset_wq(struct vb_wq *wq);

/* send.c, recv.c, wr.c */
int mlx5_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int mlx5_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int mlx5_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);
/*
 * Fills the ibv_wr_*() functions. send_ops: bits of ibv_qp_create_send_ops_flags; extra_ops: bits of
 * mlx5dv_qp_create_send_ops_flags.
 */
int mlx5_qp_fill_ex(struct mlx5_qp *qp, uint64_t send_ops, uint64_t extra_ops);

/* context.c */
int mlx5_context_init(struct vb_context *ctx);
void mlx5_context_fini(struct vb_context *ctx);
void mlx5_init_ah(struct vb_ah *ah);

/* clock.c */
#define MLX5_CLOCK_MASK ((uint64_t)INT64_MAX)
/* dv_sched.c: the queue pair goes, and is no longer at its leaf. */
void mlx5_sched_leave(struct mlx5_qp *qp);
/* What an entry of the pacing table stands for; false when there is none. */
bool mlx5_rate_find(const struct hca_adapter *adapter, uint32_t index, uint32_t *kbps,
		    uint32_t *burst);

void mlx5_clock_read(const struct hca_adapter *adapter, struct mlx5dv_clock_info *out);

#endif
