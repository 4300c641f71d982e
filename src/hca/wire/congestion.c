/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Congestion notification (IBTA annex A17.9). The window of a connected QP halves, at most once per
 * REDUCE_EVERY_NS, and opens again with acknowledgements. A datagram QP has no window: it pauses,
 * for longer each time while CNPs go on, and sends at least as long as it has paused, so that CNPs
 * cannot silence it.
 */
#include "hca/wire/congestion.h"

#include <stdatomic.h>
#include <string.h>

#include "hca/device/port.h"
#include "hca/hca.h"
#include "hca/transport/cwnd.h"
#include "hca/transport/path.h"
#include "hca/transport/qp_count.h"
#include "hca/transport/timer.h"
#include "hca/wire/qp_wire.h"
#include "hca/wire/wire_path.h"
#include "hca/wire/wire_tx.h"
#include "roce/opcode.h"

#define CNP_EVERY_NS    50000u  /* at most one CNP per QP; the default of ConnectX adapters */
#define REDUCE_EVERY_NS 300000u /* a few round trips: the CNPs of one congestion count once */
#define PAUSE_MIN_NS    50000u
#define PAUSE_MAX_NS    500000u

void congestion_count(uint64_t *sent, uint64_t *received)
{
	*sent = atomic_load_explicit(&hca.wire.congestion.cnps_sent, memory_order_relaxed);
	*received = atomic_load_explicit(&hca.wire.congestion.cnps_received, memory_order_relaxed);
}

/* Makes the QP's path the one back to the sender of a datagram. */
static bool connect_back(struct qp *qp, const uint8_t *src, const uint8_t *dst)
{
	const struct hca_adapter *a = qp->pub.ctx->adapter;
	struct hca_av av = { .has_grh = true, .hop_limit = 64, .port = qp->attr.port };
	struct hca_gid_entry e;

	memcpy(av.dgid.raw, src, sizeof(av.dgid.raw));
	for (unsigned int i = 0; i < a->limits.gid_table_len; i++)
		if (hca_port_gid_quick(a, qp->attr.port, i, &e) && e.type == HCA_GID_ROCE_V2 &&
		    !memcmp(e.gid.raw, dst, sizeof(e.gid.raw))) {
			av.sgid_index = (uint8_t)i;
			return !wire_path_connect(qp, &av);
		}
	return false;
}

void congestion_marked(struct qp *qp, const struct roce_pkt *marked, const uint8_t *src,
		       const uint8_t *dst)
{
	static const char nothing[ROCE_CNP_BYTES];
	bool datagram = qp->pub.type == HCA_QP_UD;
	struct roce_pkt pkt = {
		.op = ROCE_OP_CNP,
		.flags = ROCE_PKT_BECN,
		.dqpn = datagram ? marked->sqpn : qp->attr.dest_qpn,
		.sqpn = qp->pub.qpn,
		.len = sizeof(nothing),
	};
	struct hca_list list = { .count = 1, .total = sizeof(nothing) };
	uint64_t now = hca_now_ns();

	if (marked->op != ROCE_OP_CNP)
		qp_count(qp, HCA_COUNT_ECN_MARKED);
	if (marked->op == ROCE_OP_CNP || (qp->wire && now - qp->wire->cnp_sent_ns < CNP_EVERY_NS))
		return;
	if (datagram ? !connect_back(qp, src, dst)
		     : path_connected(qp) != PATH_READY || !qp->remote)
		return;
	list.seg[0] = (struct hca_seg){ .ptr = (char *)nothing, .len = sizeof(nothing) };
	if (wire_tx_send(qp, &pkt, &list, 0))
		return;
	qp->wire->cnp_sent_ns = now;
	atomic_fetch_add_explicit(&hca.wire.congestion.cnps_sent, 1, memory_order_relaxed);
	qp_count(qp, HCA_COUNT_CNP_SENT);
}

static void pause_datagrams(struct qp *qp, uint64_t now_ns)
{
	struct qp_wire *w = qp->wire;
	uint64_t since = now_ns - w->cnp_received_ns;

	if (since < 2 * w->pause_ns)
		return;
	w->pause_ns = since < 8 * w->pause_ns ? 2 * w->pause_ns : w->pause_ns / 2;
	if (w->pause_ns < PAUSE_MIN_NS)
		w->pause_ns = PAUSE_MIN_NS;
	if (w->pause_ns > PAUSE_MAX_NS)
		w->pause_ns = PAUSE_MAX_NS;
	w->cnp_received_ns = now_ns;
	timer_pause(qp, w->pause_ns);
}

void congestion_notified(struct qp *qp)
{
	uint64_t now = hca_now_ns();

	atomic_fetch_add_explicit(&hca.wire.congestion.cnps_received, 1, memory_order_relaxed);
	qp_count(qp, HCA_COUNT_CNP_HANDLED);
	if (!qp->wire)
		return;
	if (qp->pub.type == HCA_QP_UD) {
		pause_datagrams(qp, now);
		return;
	}
	if (now - qp->wire->cnp_received_ns < REDUCE_EVERY_NS)
		return;
	qp->wire->cnp_received_ns = now;
	cwnd_reduce(&qp->comp);
}
