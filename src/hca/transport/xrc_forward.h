/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * XRC requests that reach a receive queue pair of this process and are for a shared receive queue of
 * another; see xrc_forward.c. The QP's lock held, inside an epoch section.
 */
#ifndef HCA_XRC_FORWARD_H
#define HCA_XRC_FORWARD_H

#include "hca/transport/qp_types.h"

/* True when the request was for a queue of another process: nothing else is to be done with it. */
bool xrc_forward_request(struct qp *qp, struct hca_acks *acks, const struct roce_pkt *pkt,
			 const struct hca_list *payload);
/* The answer of that process. */
void xrc_forward_answer(struct qp *qp, const struct hca_peer *from, const struct roce_pkt *pkt,
			const struct hca_list *payload);
/* There is room, or a link: what could not be forwarded has to come again. */
void xrc_forward_resume(struct qp *qp);

static inline bool xrc_op_is_atomic(uint8_t op)
{
	return op == ROCE_PKT_CMP_SWAP || op == ROCE_PKT_FETCH_ADD;
}

/* The XRC domain that a forwarded request names, in a field that its kind does not use. */
static inline uint32_t xrc_forward_domain(const struct roce_pkt *pkt)
{
	return xrc_op_is_atomic(pkt->op & ROCE_PKT_OPCODE_MASK) ? pkt->imm : pkt->rdma.xrcd;
}

#endif
