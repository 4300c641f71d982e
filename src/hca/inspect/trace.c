/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/inspect/trace.h"

#include "hca/hca.h"
#include "hca/transport/packet_filter.h"
#include "hca/transport/qp_types.h"
#include "hca/transport/window.h"
#include "roce/opcode.h"

/* A request that is sent is the window's last; a response that arrives is for its first. */
static void find_request(const struct qp *qp, bool request, struct hca_trace_packet *p)
{
	const struct window *w = &qp->window;

	if (p->out != request)
		return;
	if (qp->pub.type == HCA_QP_UD) {
		struct hca_send s;

		qp->pub.format->sq_decode(&qp->pub, qp->req.next, &s);
		p->counter = s.counter;
		p->has_counter = true;
	} else if (!window_is_empty(w)) {
		p->counter = (p->out ? window_last(w) : window_head(w))->counter;
		p->has_counter = true;
	}
}

static void packet(const struct qp *qp, const struct roce_pkt *pkt, bool out)
{
	const struct roce_opcode_info *info = roce_opcode_find(pkt->op);
	bool datagram = qp->pub.type == HCA_QP_UD;
	uint32_t peer = datagram ? pkt->sqpn : qp->attr.dest_qpn;
	struct hca_trace_packet p = {
		.from = out ? qp->pub.qpn : peer,
		.to = out ? pkt->dqpn : qp->pub.qpn,
		.psn = pkt->psn,
		.len = pkt->len,
		.op = pkt->op,
		.out = out,
		.wire = qp->remote,
	};

	/* Some packets exist on the fabric only, and a guest stands for another process's. */
	if (!info || qp->guest)
		return;
	if ((pkt->op & ROCE_PKT_OPCODE_MASK) == ROCE_PKT_ACK)
		p.syndrome = (uint8_t)pkt->ack.syndrome;
	find_request(qp, info->request, &p);
	hca.inspect.trace->packet(&qp->pub, &p);
}

static void direct(const struct qp *qp, const struct hca_send *s)
{
	hca.inspect.trace->direct(&qp->pub, s->counter, s->op, s->length);
}

static const struct packet_trace trace = { .packet = packet, .direct = direct };

void hca_trace_start(const struct hca_trace_ops *ops)
{
	hca.inspect.trace = ops;
	packet_filter_set_trace(&trace);
}
