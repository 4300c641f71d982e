/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Congestion notification (IBTA annex A17.9). The reaction is a plain one: the window of a connected
 * queue pair halves, at most once in a while, and opens again with acknowledgements. One that sends
 * datagrams has no window: it pauses, for longer each time while complaints go on, and sends for as
 * long as it has paused at least, so that nobody can silence it.
 */
#include "hca/wire/congestion.h"

#include <stdatomic.h>
#include <string.h>

#include "hca/device/port.h"
#include "hca/hca.h"
#include "hca/transport/cwnd.h"
#include "hca/transport/path.h"
#include "hca/transport/timer.h"
#include "hca/wire/wire.h"
#include "roce/opcode.h"

#define SAY_EVERY_NS  50000u  /* what ConnectX adapters take by default */
#define SLOW_EVERY_NS 300000u /* a few round trips: one mark's packets must not count as many */

#define PAUSE_LEAST_NS 50000u
#define PAUSE_MOST_NS  500000u

static _Atomic uint64_t said, heard;

void congestion_count(uint64_t *s, uint64_t *h)
{
	*s = atomic_load_explicit(&said, memory_order_relaxed);
	*h = atomic_load_explicit(&heard, memory_order_relaxed);
}

/* The way back to who sent the datagram. */
static bool way_back(struct qp *qp, const uint8_t *src, const uint8_t *dst)
{
	const struct hca_adapter *a = qp->pub.ctx->adapter;
	struct hca_av av = { .has_grh = true, .hop_limit = 64, .port = qp->attr.port };
	struct hca_gid_entry e;

	memcpy(av.dgid.raw, src, sizeof(av.dgid.raw));
	for (unsigned int i = 0; i < a->limits.gid_table_len; i++)
		if (hca_port_gid_quick(a, qp->attr.port, i, &e) && e.type == HCA_GID_ROCE_V2 &&
		    !memcmp(e.gid.raw, dst, sizeof(e.gid.raw))) {
			av.sgid_index = (uint8_t)i;
			return !wire_connect(qp, &av);
		}
	return false;
}

void congestion_seen(struct qp *qp, const struct roce_pkt *seen, const uint8_t *src,
		     const uint8_t *dst)
{
	static const char nothing[ROCE_CNP_BYTES];
	bool datagram = qp->pub.type == HCA_QP_UD;
	struct roce_pkt pkt = {
		.op = ROCE_OP_CNP,
		.flags = ROCE_PKT_BECN,
		.dqpn = datagram ? seen->sqpn : qp->attr.dest_qpn,
		.sqpn = qp->pub.qpn,
		.len = sizeof(nothing),
	};
	struct hca_list list = { .count = 1, .total = sizeof(nothing) };
	uint64_t now = hca_now_ns();

	if (seen->op == ROCE_OP_CNP || (qp->wire && now - qp->wire->cnp_ns < SAY_EVERY_NS))
		return;
	if (datagram ? !way_back(qp, src, dst) : path_connected(qp) != PATH_READY || !qp->remote)
		return;
	list.seg[0] = (struct hca_seg){ .ptr = (char *)nothing, .len = sizeof(nothing) };
	if (wire_send(qp, &pkt, &list, 0))
		return;
	qp->wire->cnp_ns = now;
	atomic_fetch_add_explicit(&said, 1, memory_order_relaxed);
}

static void pause_datagrams(struct qp *qp, uint64_t now_ns)
{
	struct qp_wire *w = qp->wire;
	uint64_t since = now_ns - w->slowed_ns;

	if (since < 2 * w->pause_ns)
		return;
	w->pause_ns = since < 8 * w->pause_ns ? 2 * w->pause_ns : w->pause_ns / 2;
	if (w->pause_ns < PAUSE_LEAST_NS)
		w->pause_ns = PAUSE_LEAST_NS;
	if (w->pause_ns > PAUSE_MOST_NS)
		w->pause_ns = PAUSE_MOST_NS;
	w->slowed_ns = now_ns;
	timer_pause(qp, w->pause_ns);
}

void congestion_told(struct qp *qp)
{
	uint64_t now = hca_now_ns();

	atomic_fetch_add_explicit(&heard, 1, memory_order_relaxed);
	if (!qp->wire)
		return;
	if (qp->pub.type == HCA_QP_UD) {
		pause_datagrams(qp, now);
		return;
	}
	if (now - qp->wire->slowed_ns < SLOW_EVERY_NS)
		return;
	qp->wire->slowed_ns = now;
	cwnd_reduce(&qp->req);
}
