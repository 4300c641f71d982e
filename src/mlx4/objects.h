/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The driver's objects. Each starts with the part that both drivers share (src/driver), which starts
 * with the part that the library knows (verbs/objects.h).
 *
 * Locks, outermost first: a QP's adapter lock (hca_qp.lock) for the send queue; drv_rq.lock or
 * drv_srq.lock for receive queues; a CQ's lock for its consumer side. Inside a CQ's lock only an
 * SRQ's is taken. The adapter is never called with a receive queue's or a CQ's lock held.
 */
#ifndef MLX4_OBJECTS_H
#define MLX4_OBJECTS_H

#include <stdatomic.h>

#include "driver/cq.h"
#include "driver/qp.h"
#include "driver/srq.h"
#include "hca/device/table.h"
#include "mlx4/wqe.h"
#include "verbs/memory.h"

/* The size that a ConnectX-3 and its kernel driver use by default; programs find it in mlx4dv_cq. */
#define MLX4_CQE_SIZE 64u

struct mlx4_context {
	struct vb_context *vb;
	bool ethernet; /* the link of port 1 */
	bool mixed;    /* other ports have another link */
	uint8_t *uar;
	uint8_t *blueflame;
	struct hca_table qps;  /* QPs with rings and work queues, by number: struct mlx4_qp */
	struct hca_table srqs; /* XRC receive queues, by number: struct mlx4_srq */
	struct vb_memory memory;
	uint8_t log_wqs_range; /* MLX4DV_SET_CTX_ATTR_LOG_WQS_RANGE_SZ */
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
	struct drv_cq base; /* base.last: struct mlx4_qp */
	bool timestamps;    /* CQEs have the time in place of service level and source LID */
	const struct mlx4_qp *cqe_qp; /* of the CQE at the cursor; NULL: an XRC target */
	struct mlx4_context *ctx;
};

struct mlx4_srq {
	struct drv_srq base;
	uint32_t srqn;
	struct mlx4_cq *xrc_cq; /* NULL: not XRC */
	struct mlx4_context *ctx;
};

struct mlx4_sq {
	uint8_t *buf;
	uint32_t mask;         /* slots, less one */
	uint8_t shift;         /* log2 of a slot's bytes */
	uint32_t head;         /* free running; under the QP's lock */
	_Atomic uint32_t tail; /* written under the CQ's lock */
	uint32_t max_post;
	uint32_t max_inline;
	uint32_t max_sge;
	uint32_t signal_bits; /* of srcrb_flags, when the QP signals all requests */
	uint64_t *wr_ids;
};

struct mlx4_qp {
	struct drv_qp base;
	struct mlx4_sq sq;
	struct mlx4_context *ctx;
};

/* In this format a work queue is a QP that only receives; queue->base.vb is not used. */
struct mlx4_wq {
	struct drv_wq base;
	struct mlx4_qp *queue;
};

static inline struct mlx4_wq *to_mwq(struct ibv_wq *wq)
{
	return container_of(wq, struct mlx4_wq, base.vb.wq);
}

static inline struct mlx4_cq *to_mcq(struct ibv_cq *cq)
{
	return container_of(cq, struct mlx4_cq, base.vb.cq);
}

static inline struct mlx4_srq *to_msrq(struct ibv_srq *srq)
{
	return container_of(srq, struct mlx4_srq, base.vb.srq);
}

static inline struct mlx4_qp *to_mqp(struct ibv_qp *qp)
{
	return container_of(qp, struct mlx4_qp, base.vb.qp);
}

/* Of a receive queue: too many elements are ENOMEM, and lengths are written as they are. */
static inline struct drv_recv_limits mlx4_recv_limits(uint32_t max_sge)
{
	return (struct drv_recv_limits){ .max_sge = max_sge,
					 .sge_errno = ENOMEM,
					 .length_mask = UINT32_MAX };
}

#endif
