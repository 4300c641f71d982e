/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The public struct and the handle of a queue pair.
 */
#ifndef VERBS_QP_FILL_H
#define VERBS_QP_FILL_H

#include "verbs/objects.h"

static inline void vb_qp_fill(struct vb_qp *qp, struct ibv_context *context, void *qp_context,
			      enum ibv_qp_type type)
{
	qp->qp.context = context;
	qp->qp.qp_context = qp_context;
	qp->qp.qp_type = type;
	qp->qp.handle = qp->qp.qp_num = qp->hca->qpn;
	/* Another process may have opened the queue pair already, and change its state. */
	qp->qp.state = (enum ibv_qp_state)__atomic_load_n(&qp->hca->state, __ATOMIC_RELAXED);
	verbena_handle_add(&qp->own, to_context(context), VB_KIND_QP, qp->qp.handle);
	pthread_mutex_init(&qp->qp.mutex, NULL);
	pthread_cond_init(&qp->qp.cond, NULL);
}

#endif
