/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts what happens to a queue pair: in the set that a program attached, among the counters of the
 * port, and for viewers in the queue pair. Not for events of every message.
 */
#ifndef HCA_QP_COUNT_H
#define HCA_QP_COUNT_H

#include "hca/device/counters.h"
#include "hca/device/ctx.h"
#include "hca/device/work.h"
#include "hca/transport/qp_types.h"

static inline enum qp_trouble qp_trouble_of(unsigned int what)
{
	switch (what) {
	case HCA_COUNT_ACK_TIMEOUT:
	case HCA_COUNT_SEQ_NAK:
	case HCA_COUNT_READ_GAP:
		return QP_TROUBLE_RETRY;
	case HCA_COUNT_RNR_NAK:
		return QP_TROUBLE_RNR;
	case HCA_COUNT_OUT_OF_BUFFER:
		return QP_TROUBLE_NO_RECV;
	case HCA_COUNT_REQ_STATUS + HCA_WR_FLUSH_ERR:
	case HCA_COUNT_RESP_STATUS + HCA_WR_FLUSH_ERR:
		return QP_TROUBLE_FLUSHED;
	default:
		return what >= HCA_COUNT_REQ_STATUS ? QP_TROUBLE_ERROR : QP_TROUBLES;
	}
}

static inline void qp_count(struct qp *qp, unsigned int what)
{
	enum qp_trouble trouble = qp_trouble_of(what);

	if (trouble < QP_TROUBLES)
		atomic_fetch_add_explicit(&qp->trouble[trouble], 1, memory_order_relaxed);
	hca_count(qp->pub.counters, what);
	/* The directory is not mapped in the child of a fork, which may destroy what it inherited. */
	if (qp->port_counts && hca_ctx_is_here(qp->pub.ctx))
		atomic_fetch_add_explicit(&qp->port_counts[what], 1, memory_order_relaxed);
}

#endif
