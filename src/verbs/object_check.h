/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether the handle in an object's public struct names the object: 0, or -code (handle.h).
 */
#ifndef VERBS_OBJECT_CHECK_H
#define VERBS_OBJECT_CHECK_H

#include "verbs/flow_types.h"
#include "verbs/objects.h"

static inline int vb_check_pd(struct ibv_pd *pd, int code, const char *call)
{
	return verbena_handle_check(pd->context, VB_KIND_PD, pd->handle, &to_pd(pd)->own, code,
				    call);
}

static inline int vb_check_mr(struct ibv_mr *mr, int code, const char *call)
{
	return verbena_handle_check(mr->context, VB_KIND_MR, mr->handle, &to_mr(mr)->own, code,
				    call);
}

static inline int vb_check_mw(struct ibv_mw *mw, int code, const char *call)
{
	return verbena_handle_check(mw->context, VB_KIND_MW, mw->handle, &to_mw(mw)->own, code,
				    call);
}

static inline int vb_check_dm(struct ibv_dm *dm, int code, const char *call)
{
	return verbena_handle_check(dm->context, VB_KIND_DM, dm->handle, &to_dm(dm)->own, code,
				    call);
}

static inline int vb_check_ah(struct ibv_ah *ah, int code, const char *call)
{
	return verbena_handle_check(ah->context, VB_KIND_AH, ah->handle, &to_ah(ah)->own, code,
				    call);
}

static inline int vb_check_cq(struct ibv_cq *cq, int code, const char *call)
{
	return verbena_handle_check(cq->context, VB_KIND_CQ, cq->handle, &to_cq(cq)->own, code,
				    call);
}

static inline int vb_check_srq(struct ibv_srq *srq, int code, const char *call)
{
	return verbena_handle_check(srq->context, VB_KIND_SRQ, srq->handle, &to_srq(srq)->own, code,
				    call);
}

static inline int vb_check_qp(struct ibv_qp *qp, int code, const char *call)
{
	return verbena_handle_check(qp->context, VB_KIND_QP, qp->handle, &to_qp(qp)->own, code,
				    call);
}

static inline int vb_check_wq(struct ibv_wq *wq, int code, const char *call)
{
	return verbena_handle_check(wq->context, VB_KIND_WQ, wq->handle, &to_wq(wq)->own, code,
				    call);
}

static inline int vb_check_ind_table(struct ibv_rwq_ind_table *table, int code, const char *call)
{
	return verbena_handle_check(table->context, VB_KIND_IND_TABLE,
				    (uint32_t)table->ind_tbl_handle, &to_ind_table(table)->own,
				    code, call);
}

static inline int vb_check_flow(struct ibv_flow *flow, int code, const char *call)
{
	return verbena_handle_check(flow->context, VB_KIND_FLOW, flow->handle, &to_flow(flow)->own,
				    code, call);
}

/* The public structs of these have a context only; the number is the object's own. */

static inline int vb_check_xrcd(struct ibv_xrcd *xrcd, int code, const char *call)
{
	const struct vb_handle *own = &to_xrcd(xrcd)->own;

	return verbena_handle_check(xrcd->context, VB_KIND_XRCD, vb_handle_number(own), own, code,
				    call);
}

static inline int vb_check_counters(struct ibv_counters *counters, int code, const char *call)
{
	const struct vb_handle *own = &to_counters(counters)->own;

	return verbena_handle_check(counters->context, VB_KIND_COUNTERS, vb_handle_number(own), own,
				    code, call);
}

static inline int vb_check_flow_action(struct ibv_flow_action *action, int code, const char *call)
{
	const struct vb_handle *own = &to_flow_action(action)->own;

	return verbena_handle_check(action->context, VB_KIND_FLOW_ACTION, vb_handle_number(own),
				    own, code, call);
}

#endif
