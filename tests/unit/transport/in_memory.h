/* SPDX-License-Identifier: BSD-2-Clause */
/* What networks in memory share: they know nothing of sockets and groups, and hand packets to queue pairs. */
#ifndef TESTS_TRANSPORT_IN_MEMORY_H
#define TESTS_TRANSPORT_IN_MEMORY_H

#include "hca/transport/acks.h"
#include "hca/transport/completer.h"
#include "hca/transport/network.h"
#include "hca/transport/qp_types.h"
#include "hca/transport/responder.h"

static inline void in_memory_nothing(struct qp *qp)
{
}

static inline bool in_memory_is_forced(void)
{
	return true;
}

static inline int in_memory_check(const struct qp *qp, unsigned int port_num,
				  const struct hca_av *av)
{
	return 0;
}

static inline int in_memory_check_sport(const struct qp *qp, const struct hca_av *av, uint16_t port)
{
	return 0;
}

static inline void in_memory_forget(struct qp *qp)
{
	qp->carrier = NULL;
}

static inline int in_memory_join(struct qp *qp, const struct hca_gid *gid)
{
	return 0;
}

static inline void in_memory_leave(struct qp *qp, const struct hca_gid *gid)
{
}

static inline void in_memory_send_group(struct qp *qp, const struct hca_av *av,
					const struct roce_pkt *pkt, const struct hca_list *list)
{
}

/* Members of struct carrier and of struct network, beside those that send and connect. */
#define IN_MEMORY_CARRIER                                                                          \
	.flush = in_memory_nothing, .request_sent = in_memory_nothing,                             \
	.datagram_sent = in_memory_nothing
#define IN_MEMORY_NETWORK                                                                          \
	.is_forced = in_memory_is_forced, .check = in_memory_check,                                \
	.check_sport = in_memory_check_sport, .listen = in_memory_nothing,                         \
	.forget = in_memory_forget, .join = in_memory_join, .leave = in_memory_leave,              \
	.send_group = in_memory_send_group

static inline bool in_memory_is_answer(uint8_t op)
{
	op &= ROCE_PKT_OPCODE_MASK;
	return op >= ROCE_PKT_READ_RESP_FIRST && op <= ROCE_PKT_ATOMIC_ACK;
}

/* Acknowledgements that become due are added to a list. */
static inline void in_memory_hand_over(struct qp *qp, struct hca_acks *acks, struct roce_pkt *pkt,
				       const void *payload)
{
	struct hca_list list = { .count = 1, .total = pkt->len };

	list.seg[0] = (struct hca_seg){ .ptr = (char *)payload, .len = pkt->len };
	fabric_lock(&qp->pub.lock);
	if (qp->pub.type != HCA_QP_UD && qp->pub.type != HCA_QP_DCR)
		pkt->sqpn = qp->attr.dest_qpn;
	if (in_memory_is_answer(pkt->op))
		completer_packet(qp, pkt, &list);
	else
		responder_packet(qp, NULL, acks, pkt, &list, NULL);
	fabric_unlock(&qp->pub.lock);
}

#endif
