/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queue pairs and work queues: their receive side, and their completions. A driver's QP starts with
 * struct drv_qp, its WQ with struct drv_wq.
 */
#ifndef DRIVER_QP_H
#define DRIVER_QP_H

#include "driver/cq.h"
#include "driver/rq.h"
#include "driver/srq.h"
#include "verbs/objects.h"

struct drv_qp {
	struct vb_qp vb;
	uint32_t qpn;
	uint8_t type; /* enum hca_qp_type */
	bool rss;     /* hashes over an indirection table */
	struct drv_rq rq;
	struct drv_srq *srq;
	struct drv_cq *send_cq, *recv_cq;
	struct drv_ring ring;
};

struct drv_wq {
	struct vb_wq vb;
	struct drv_rq *rq;
};

/* Without rings: XRC receive QPs, which may have several handles, DC targets, and RSS QPs. */
static inline bool drv_qp_is_bare(const struct drv_qp *qp)
{
	return qp->type == HCA_QP_XRC_RECV || qp->type == HCA_QP_DCT || qp->rss;
}

/* Sets type, CQs and SRQ, as attr has them. */
void drv_qp_init(struct drv_qp *qp, enum hca_qp_type type, const struct ibv_qp_init_attr_ex *attr);
/* Members of struct hca_qp_init that both drivers fill alike. */
void drv_qp_fill_init(const struct drv_qp *qp, struct vb_context *ctx,
		      const struct ibv_qp_init_attr_ex *attr, struct hca_qp_init *init);
/* Another handle for an XRC receive QP: a driver's QP of `bytes`. 0 or -ENOMEM. */
int drv_qp_open(struct hca_qp *hca, size_t bytes, struct vb_qp **out);
/* Takes the QP's completions out of its CQs; `queue` as drv_cq_purge() has it. */
void drv_qp_purge(struct drv_qp *qp, const void *queue);

/* ibv_post_recv() and ibv_post_wq_recv(). */
int drv_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int drv_post_wq_recv(struct ibv_wq *wq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);

#endif
