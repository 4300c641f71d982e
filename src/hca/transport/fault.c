/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/transport/fault.h"

#include "hca/device/counters.h"
#include "hca/transport/answer.h"
#include "hca/transport/qp_count.h"
#include "hca/transport/qp_fail.h"
#include "hca/transport/recv.h"
#include "hca/transport/syndrome.h"

void fault_refuse_for_now(struct qp *qp, uint8_t syndrome)
{
	struct responder *r = &qp->resp;

	r->nak_sent = r->dropping_behind = true;
	r->nak_repeats = 0;
	r->nak_trigger_psn = r->epsn;
	answer_refuse(qp, syndrome);
}

void fault_handle(struct qp *qp, enum fault f, enum hca_status recv_status)
{
	switch (f) {
	case FAULT_NONE:
		return;
	case FAULT_WAIT:
		qp_count(qp, HCA_COUNT_OUT_OF_BUFFER);
		if (qp_is_reliable(qp)) {
			qp_count(qp, HCA_COUNT_RNR_SENT);
			fault_refuse_for_now(qp, ROCE_SYN_RNR | (qp->attr.min_rnr_timer & 0x1f));
		}
		return;
	case FAULT_FETCH:
		fault_refuse_for_now(qp, ROCE_SYN_NAK_REF);
		return;
	default:
		break;
	}
	if (!qp_is_reliable(qp)) {
		/* UC: the message is dropped silently (IBTA volume 1, 9.8.2.2.2). */
		qp->resp.last_op = NO_MESSAGE;
		return;
	}
	if (f == FAULT_ACCESS || f == FAULT_INVALID)
		qp_count(qp,
			 f == FAULT_ACCESS ? HCA_COUNT_REFUSED_ACCESS : HCA_COUNT_REFUSED_INVALID);
	recv_complete_error(qp, recv_status,
			    recv_status == HCA_LOC_LEN_ERR ? SYN_LENGTH : SYN_LOCAL_PROT);
	/* The requester is owed no NAK for a key that cannot be invalidated (class J). */
	if (f == FAULT_INVALIDATE) {
		qp_event(qp, HCA_EVENT_QP_ACCESS_ERR);
		qp_fail(qp);
		return;
	}
	answer_refuse(qp, f == FAULT_ACCESS  ? ROCE_SYN_NAK_ACCESS
			  : f == FAULT_LOCAL ? ROCE_SYN_NAK_OP
					     : ROCE_SYN_NAK_INVALID);
	qp_event(qp, f == FAULT_ACCESS  ? HCA_EVENT_QP_ACCESS_ERR
		     : f == FAULT_LOCAL ? HCA_EVENT_QP_FATAL
					: HCA_EVENT_QP_REQ_ERR);
	qp_fail(qp);
}
