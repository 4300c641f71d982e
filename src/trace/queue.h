/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queue pairs and completion queues that are traced: a format of their own takes the place of the driver's, so
 * that the adapter comes by here when it looks for requests, takes one, and writes a completion. Called under the
 * lock of the queue.
 */
#ifndef TRACE_QUEUE_H
#define TRACE_QUEUE_H

#include "hca/device/format.h"
#include "verbs/objects.h"

struct trace_qp {
	struct hca_format format; /* first: that of the queue pair */
	const struct hca_format *driver;
	struct ibv_qp_ex ex; /* the driver's functions for ibv_wr_*() */
	uint32_t rung;       /* behind the last slot that a doorbell was noted for */
	uint32_t fetched;    /* behind the last slot that was taken */
};

struct trace_cq {
	struct hca_format format; /* first: that of the queue */
	const struct hca_format *driver;
	/* the driver's */
	int (*start_poll)(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr);
	int (*next_poll)(struct ibv_cq_ex *cq);
	void (*end_poll)(struct ibv_cq_ex *cq);
};

void trace_qp_created(struct vb_qp *qp, const void *driver_attr);
void trace_qp_modified(struct vb_qp *qp, const struct ibv_qp_attr *attr, int mask, int err);
void trace_qp_destroyed(struct vb_qp *qp);
void trace_cq_created(struct vb_cq *cq, uint32_t flags);
void trace_cq_destroyed(struct vb_cq *cq);

#endif
