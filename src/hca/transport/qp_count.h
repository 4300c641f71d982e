/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts what happens to a queue pair: in the set that a program attached, and among the counters of the
 * port. Not for events of every message.
 */
#ifndef HCA_QP_COUNT_H
#define HCA_QP_COUNT_H

#include "hca/device/counters.h"
#include "hca/device/ctx.h"
#include "hca/transport/qp_types.h"

static inline void qp_count(struct qp *qp, unsigned int what)
{
	hca_count(qp->pub.counters, what);
	/* The directory is not mapped in the child of a fork, which may destroy what it inherited. */
	if (qp->port_counts && hca_ctx_is_here(qp->pub.ctx))
		atomic_fetch_add_explicit(&qp->port_counts[what], 1, memory_order_relaxed);
}

#endif
