/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Congestion notification for connected queue pairs (IBTA annex A17.9). The reaction is a plain one:
 * the window halves, at most once in a while, and opens again with acknowledgements.
 */
#include "hca/congestion.h"

#include <stdatomic.h>

#include "hca/send.h"
#include "hca/wire.h"
#include "roce/opcode.h"

#define SAY_EVERY_NS  50000u  /* what ConnectX adapters take by default */
#define SLOW_EVERY_NS 300000u /* a few round trips: one mark's packets must not count as many */

static _Atomic uint64_t said, heard;

void congestion_count(uint64_t *s, uint64_t *h)
{
	*s = atomic_load_explicit(&said, memory_order_relaxed);
	*h = atomic_load_explicit(&heard, memory_order_relaxed);
}

void congestion_seen(struct qp *qp)
{
	static const char nothing[ROCE_CNP_BYTES];
	struct roce_pkt pkt = {
		.op = ROCE_OP_CNP,
		.flags = ROCE_PKT_BECN,
		.dqpn = qp->attr.dest_qpn,
		.sqpn = qp->pub.qpn,
		.len = sizeof(nothing),
	};
	struct hca_list list = { .count = 1, .total = sizeof(nothing) };
	uint64_t now = timer_now();

	if (qp->pub.type == HCA_QP_UD || path_connected(qp) != PATH_READY || !qp->wired ||
	    now - qp->wire->cnp_ns < SAY_EVERY_NS)
		return;
	list.seg[0] = (struct hca_seg){ .ptr = (char *)nothing, .len = sizeof(nothing) };
	if (wire_send(qp, &pkt, &list, 0))
		return;
	qp->wire->cnp_ns = now;
	atomic_fetch_add_explicit(&said, 1, memory_order_relaxed);
}

void congestion_told(struct qp *qp)
{
	uint64_t now = timer_now();

	atomic_fetch_add_explicit(&heard, 1, memory_order_relaxed);
	if (!qp->wire || now - qp->wire->slowed_ns < SLOW_EVERY_NS)
		return;
	qp->wire->slowed_ns = now;
	completer_slow_down(qp);
}
