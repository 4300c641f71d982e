/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The driver's objects. Each starts with what the library knows (verbs/objects.h) and adds its
 * ring in memory and what polling needs.
 *
 * Locks, outermost first: a QP's adapter lock (hca_qp.lock) for the send queue; rq_lock of a QP or
 * lock of an SRQ for receive queues; a CQ's lock for its consumer side. Nothing is taken inside a
 * CQ's lock but an SRQ's. The adapter is never called with rq_lock or a CQ's lock held.
 */
#ifndef MLX4_MLX4_H
#define MLX4_MLX4_H

#include <endian.h>
#include <stdatomic.h>

#include "hca/device/table.h"
#include "mlx4/wqe.h"
#include "verbs/driver.h"
#include "verbs/memory.h"

/* What a ConnectX-3 and its kernel driver agree on by default; programs find it in mlx4dv_cq. */
#define MLX4_CQE_SIZE 64u

struct mlx4_context {
	struct vb_context *vb;
	bool ethernet; /* the link of port 1 */
	bool mixed;    /* other ports have another link */
	uint8_t *uar;
	uint8_t *blueflame;
	struct hca_table qps;  /* all that have a ring, by QP number */
	struct hca_table srqs; /* XRC only, by SRQ number */
	struct vb_memory memory;
	uint8_t log_wqs_range; /* for the next work queue that is made */
};

static inline struct mlx4_context *mlx4_ctx(struct vb_context *ctx)
{
	return ctx->driver_data;
}

static inline struct mlx4_context *mlx4_ctx_of(struct ibv_context *context)
{
	return mlx4_ctx(to_context(context));
}

struct mlx4_qp;

struct mlx4_cq {
	struct vb_cq vb;
	struct fabric_lock lock; /* everything below, and the entries between ci and the adapter */
	bool unlocked;           /* IBV_CREATE_CQ_ATTR_SINGLE_THREADED */
	_Atomic bool more;       /* the last poll may have left entries: see verbs/poll.h */
	bool raw;                /* handed out by mlx4dv_init_obj: the program consumes */
	bool timestamps;
	uint32_t mask; /* entries, less one */
	uint32_t ci;   /* free running */
	uint32_t entry_size;
	_Atomic uint32_t arm_sn;
	uint8_t *entries; /* of the first entry's 32 bytes that count */
	volatile uint32_t *db;
	struct mlx4_qp *last; /* of the last entry taken, to save a look-up */
	/* the cursor of ibv_start_poll() */
	const struct mlx4_cqe *cqe;
	const struct mlx4_qp *cqe_qp; /* NULL: an XRC target */
	struct mlx4_context *ctx;
	struct vb_buf buf, record;
};

struct mlx4_srq {
	struct vb_srq vb;
	uint32_t srqn;
	struct fabric_lock lock; /* everything below */
	uint8_t shift;           /* of an entry's bytes */
	uint16_t head, tail;     /* first and last free entry; equal when all others are posted */
	uint16_t counter;        /* posted, free running */
	uint32_t max_sge;
	uint32_t size;
	uint8_t *entries;
	volatile uint32_t *db;
	uint64_t *wr_ids;
	struct mlx4_cq *xrc_cq; /* NULL: not XRC */
	struct mlx4_context *ctx;
	struct vb_buf buf, record;
};

struct mlx4_sq {
	uint8_t *buf;
	uint32_t mask;         /* slots, less one */
	uint8_t shift;         /* of a slot's bytes */
	uint32_t head;         /* free running; under the QP's lock */
	_Atomic uint32_t tail; /* written under the CQ's lock */
	uint32_t max_post;
	uint32_t max_inline;
	uint32_t max_sge;
	uint32_t signal_bits; /* for every request, when the QP signals all */
	uint64_t *wr_ids;
};

struct mlx4_rq {
	uint8_t *buf;
	uint32_t mask;
	uint32_t head;
	_Atomic uint32_t tail; /* written under the CQ's lock */
	uint32_t max_post;
	uint32_t max_sge;
	uint8_t shift;
	uint64_t *wr_ids;
};

struct mlx4_qp {
	struct vb_qp vb;
	uint32_t qpn;
	uint8_t type; /* enum hca_qp_type */
	bool rss;     /* hashes over a table, and has no rings */
	volatile uint32_t *db;
	struct mlx4_sq sq;
	struct fabric_lock rq_lock; /* rq, but for its tail */
	struct mlx4_rq rq;
	struct mlx4_srq *srq;
	struct mlx4_cq *send_cq, *recv_cq;
	struct mlx4_context *ctx;
	struct vb_buf buf, record;
};

/* To the ring's users a work queue is a QP that only receives, and has no half in the adapter. */
struct mlx4_wq {
	struct vb_wq vb;
	struct mlx4_qp *queue;
};

static inline struct mlx4_wq *to_mwq(struct ibv_wq *wq)
{
	return container_of(wq, struct mlx4_wq, vb.wq);
}

static inline struct mlx4_cq *to_mcq(struct ibv_cq *cq)
{
	return container_of(cq, struct mlx4_cq, vb.cq);
}

static inline struct mlx4_srq *to_msrq(struct ibv_srq *srq)
{
	return container_of(srq, struct mlx4_srq, vb.srq);
}

static inline struct mlx4_qp *to_mqp(struct ibv_qp *qp)
{
	return container_of(qp, struct mlx4_qp, vb.qp);
}

/* The link under a QP; NULL is an XRC target, which is not ours to ask. */
bool mlx4_qp_is_ethernet(const struct mlx4_qp *qp);

static inline bool mlx4_is_ethernet(const struct mlx4_context *ctx, const struct mlx4_qp *qp)
{
	return likely(!ctx->mixed || !qp) ? ctx->ethernet : mlx4_qp_is_ethernet(qp);
}

/* [X1] pairs with format.c: entries before what hands them over */
static inline void mlx4_record_store(volatile uint32_t *db, uint32_t value)
{
	__atomic_store_n(db, htobe32(value), __ATOMIC_RELEASE);
}

/* encode.c */

/*
 * Writes the request into the slot of index sq.head, but for the owner bit, and returns 0 and the
 * control segment's first word without it; or -errno, the slot then being free as before. The
 * caller holds the QP's lock.
 */
int mlx4_sq_encode(struct mlx4_qp *qp, const struct ibv_send_wr *wr, uint32_t *first);
/* Makes every slot free, as on creation. */
void mlx4_sq_stamp(struct mlx4_sq *sq);

/* cq.c */
int mlx4_create_cq(struct vb_context *ctx, struct ibv_cq_init_attr_ex *attr,
		   const void *driver_attr, struct vb_cq **out);
int mlx4_resize_cq(struct vb_cq *cq, int entries);
int mlx4_destroy_cq(struct vb_cq *cq);
void mlx4_cq_event(struct vb_cq *cq);
int mlx4_arm_cq(struct ibv_cq *cq, int solicited);
/*
 * Takes the entries of a QP, or of an XRC receive queue (qp NULL), out of the ring, and gives back
 * what they hold of the SRQ.
 */
void mlx4_cq_purge(struct mlx4_cq *cq, const struct mlx4_qp *qp, struct mlx4_srq *srq);

/* poll.c, cqex.c */
int mlx4_poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *wc);
void mlx4_cq_fill_ex(struct mlx4_cq *cq, uint64_t wc_flags);

/* srq.c */
int mlx4_create_srq(struct vb_context *ctx, struct ibv_srq_init_attr_ex *attr, struct vb_srq **out);
int mlx4_destroy_srq(struct vb_srq *srq);
int mlx4_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
void mlx4_srq_free_entry(struct mlx4_srq *srq, uint16_t index);

/* qp.c */
/* driver_attr: struct mlx4dv_qp_init_attr of mlx4dv_create_qp(), or NULL. */
int mlx4_create_qp(struct vb_context *ctx, struct ibv_qp_init_attr_ex *attr, void *driver_attr,
		   struct vb_qp **out);
int mlx4_destroy_qp(struct vb_qp *qp);
int mlx4_open_qp(struct vb_context *ctx, struct hca_qp *hca, struct vb_qp **out);
void mlx4_reset_qp(struct vb_qp *qp);

/* wq.c */
#define MLX4_LOG_IND_TABLE 7
int mlx4_create_wq(struct vb_context *ctx, struct ibv_wq_init_attr *attr, const void *driver_attr,
		   struct vb_wq **out);
int mlx4_destroy_wq(struct vb_wq *wq);
void mlx4_reset_wq(struct vb_wq *wq);
/* Which fields the adapter can hash together. */
int mlx4_check_hash(const struct ibv_rx_hash_conf *conf);

/* post.c */
int mlx4_post_wq_recv(struct ibv_wq *wq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
int mlx4_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
int mlx4_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
int mlx4_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);

/* context.c */
int mlx4_context_init(struct vb_context *ctx);
void mlx4_context_fini(struct vb_context *ctx);
void mlx4_init_ah(struct vb_ah *ah);
void mlx4_query_device(struct vb_context *ctx, struct ibv_device_attr_ex *attr);

#endif
