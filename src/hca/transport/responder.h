/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Between the responder's files: order and faults (responder.c), reads and atomics (resource.c),
 * acknowledgements and refusals (answer.c).
 */
#ifndef HCA_RESPONDER_H
#define HCA_RESPONDER_H

#include "hca/transport/qp_priv.h"

enum fault {
	FAULT_NONE,
	FAULT_WAIT,    /* no receive entry: RNR, or dropped */
	FAULT_INVALID, /* malformed, out of turn, too long, too many */
	FAULT_ACCESS,  /* key, range or right */
	FAULT_LOCAL,   /* our own receive entry is bad */
	FAULT_FETCH,   /* references that cannot be followed */
};

static inline uint8_t responder_transport(const struct qp *qp)
{
	switch (qp->pub.type) {
	case HCA_QP_XRC_RECV:
		return ROCE_TR_XRC;
	case HCA_QP_DCR:
		return ROCE_TR_DC;
	default:
		return ROCE_TR_RC;
	}
}

/* What the fault does to the message, the queue pair and the requester. */
void responder_fault(struct qp *qp, enum fault f, enum hca_status recv_status);
/* The domain that keys of a request must belong to; `srqn` counts for XRC. */
uint32_t responder_pdn(const struct qp *qp, uint32_t srqn);

/* ---- answer.c ---- */

/* Refuses the request that is expected now. */
void responder_refuse(struct qp *qp, uint8_t syndrome);
/* One acknowledgement at the end of a drain serves all requests that it handled. */
void responder_ack_later(struct qp *qp, struct hca_acks *acks);
/* Puts it among those that owe one at the end of the drain. */
void responder_list_ack(struct qp *qp, struct hca_acks *acks);

/* ---- resource.c ---- */

/* In turn: the answer goes out as soon as there is room. */
enum fault resource_read(struct qp *qp, const struct roce_pkt *pkt);
enum fault resource_atomic(struct qp *qp, const struct roce_pkt *pkt);
/* A read or an atomic that came before. */
void resource_again(struct qp *qp, const struct roce_pkt *pkt);
/* Some answer waits for its turn, or for room: acknowledgements of later requests must wait. */
static inline bool resource_is_due(const struct qp *qp)
{
	return qp->resp.resource_first != qp->resp.resource_next;
}

/* Sends answers as far as there is room; false when some are left. */
bool resource_send(struct qp *qp);
void resource_reset(struct qp *qp);

#endif
