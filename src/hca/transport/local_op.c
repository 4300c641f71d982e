/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/transport/local_op.h"

#include <errno.h>

#include "hca/memory/mkey.h"
#include "hca/memory/mr.h"
#include "hca/memory/mw.h"
#include "hca/memory/psv.h"
#include "hca/peers/grace.h"
#include "hca/transport/request.h"
#include "hca/transport/request_fail.h"
#include "hca/transport/sig_error.h"
#include "hca/transport/syndrome.h"
#include "hca/transport/window.h"

/* A type 2 window is not bound when it is bound: there is nothing to end. */
static bool ends_window(const struct hca_send *s)
{
	return s->op == HCA_OP_LOCAL_INV || (s->op == HCA_OP_BIND_MW && !s->bind.type2);
}

static int get_psvs(struct qp *qp, const struct hca_send *s)
{
	const uint32_t pdn = qp->pub.pd->pdn;
	uint8_t out[HCA_PSV_MOST * HCA_PSV_BYTES];
	uint64_t bytes = (uint64_t)s->psv.count * HCA_PSV_BYTES;
	struct hca_list list;
	int err = hca_psv_get(&s->psv, pdn, out);

	if (err)
		return err;
	if (!hca_mem_resolve(s->sge, s->sge_count, pdn, HCA_ACCESS_LOCAL_WRITE, &list) ||
	    list.total < bytes || !hca_mem_copy_in(&list, 0, out, bytes))
		err = -EFAULT;
	sig_error_of_request(qp);
	return err;
}

/*
 * Windows change when all before is done. Not earlier: should one of those have to be sent again,
 * what follows it is run again, too, and these may run only once.
 */
enum run_result local_op_run(struct qp *qp, struct hca_send *s)
{
	const struct hca_peer *user = NULL; /* of a type 2 window: the queue pair's other end */
	int err = 0;

	if (s->op != HCA_OP_NOP && !window_is_empty(&qp->window))
		return RUN_WAIT;
	if (qp->req.grace)
		return request_await_grace(qp, s);
	if (s->op == HCA_OP_LOCAL_INV) {
		err = hca_mw_invalidate(s->imm, qp->pub.pd->pdn, qp->pub.qpn);
		user = qp->peer;
		if (err)
			err = hca_mkey_invalidate(s->imm, qp->pub.pd->pdn, false);
	} else if (s->op == HCA_OP_BIND_MW) {
		err = hca_mw_bind(&s->bind, hca_mr_find(s->bind.mr_key), qp->pub.pd->pdn,
				  qp->pub.qpn);
	} else if (s->op == HCA_OP_UMR) {
		err = hca_mkey_update(s, qp->pub.pd->pdn);
	} else if (s->op == HCA_OP_SET_PSV) {
		err = hca_psv_set(&s->psv, qp->pub.pd->pdn);
	} else if (s->op == HCA_OP_GET_PSV) {
		err = get_psvs(qp, s);
	}
	if (!err && ends_window(s))
		err = grace_begin(user, &qp->req.grace);
	if (!err && qp->req.grace)
		return request_await_grace(qp, s);
	if (!err) {
		request_finish_local(qp, s);
		return RUN_ON;
	}
	request_fail(qp, s, HCA_MW_BIND_ERR, SYN_BIND);
	return RUN_STOP;
}

enum run_result local_op_tag(struct qp *qp, struct hca_send *s)
{
	if (!window_is_empty(&qp->window))
		return RUN_WAIT;
	if (qp->pub.srq &&
	    hca_srq_tag(qp->pub.srq, qp->pub.qpn, &s->tag, s->sge_count ? &s->sge[0] : NULL)) {
		request_finish_local(qp, s);
		return RUN_ON;
	}
	request_fail(qp, s, HCA_LOC_QP_OP_ERR, SYN_QP_OP);
	return RUN_STOP;
}
