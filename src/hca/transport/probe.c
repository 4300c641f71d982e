/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Probes (like the tail loss probe of TCP, RFC 8985): a requester whose packets get lost asks for the
 * peer's state before the queue pair's timeout, which is long, since it is meant for dead peers.
 *
 * When an acknowledgement, a NAK or the last packet of a window is lost, no later packet reveals it. Once
 * a connection has lost packets, its oldest unanswered packet is therefore sent again after four round
 * trips of silence, then after twice as long, and so on. Any answer says which PSN the peer expects.
 * Probes are no retries: the timeout and the retry count run as if there were none. A peer that has
 * never answered is not probed after a timeout: it may not exist, and gets as many packets as the retry
 * count allows.
 *
 * A connection without losses is neither timed nor probed. Lock held, inside an epoch section.
 */
#include "hca/transport/probe.h"

#include "hca/hca.h"
#include "hca/transport/timer.h"
#include "hca/transport/window.h"

#define SHORTEST_NS 500000u
#define UNKNOWN_NS  4000000u     /* before the first round trip was measured */
#define MEMORY_NS   10000000000u /* a connection without a loss for so long is not lossy */

/* Delay of the next probe; 0: the queue pair's timeout comes earlier. */
static uint64_t delay_ns(const struct qp *qp)
{
	const struct probe *p = &qp->comp.probe;
	uint64_t ns = p->rtt_ns ? 4 * p->rtt_ns : UNKNOWN_NS;

	if (ns < SHORTEST_NS)
		ns = SHORTEST_NS;
	ns <<= p->unanswered;
	return !p->never_answered && ns < timer_ack_ns(qp->attr.timeout) ? ns : 0;
}

void probe_arm(struct qp *qp, uint64_t now_ns)
{
	struct probe *p = &qp->comp.probe;
	uint64_t ns = delay_ns(qp);

	p->acks_seen = p->acks + qp->comp.stale;
	p->at = ns ? now_ns + ns : 0;
	if (p->at)
		timer_wake(qp, p->at);
}

void probe_begin(struct qp *qp)
{
	struct probe *p = &qp->comp.probe;

	if (qp->remote && !p->at && !window_is_empty(&qp->window))
		probe_arm(qp, hca_now_ns());
}

void probe_lost(struct qp *qp)
{
	struct probe *p = &qp->comp.probe;

	if (!qp->remote)
		return;
	p->lossy = true;
	p->lost_at = hca_now_ns();
	probe_begin(qp);
}

void probe_expired(struct qp *qp)
{
	struct probe *p = &qp->comp.probe;

	p->never_answered = !p->acks;
	probe_lost(qp);
}

void probe_time(struct completer *c, uint32_t psn)
{
	if (c->probe.rtt_sent_ns)
		return;
	c->probe.rtt_psn = psn;
	c->probe.rtt_sent_ns = hca_now_ns();
}

void probe_measure(struct completer *c)
{
	struct probe *p = &c->probe;
	uint64_t ns;

	if (psn_diff(c->una, p->rtt_psn) <= 0)
		return;
	ns = hca_now_ns() - p->rtt_sent_ns;
	p->rtt_sent_ns = 0;
	/* Rises at once, falls slowly: early probes burden a slow peer. */
	p->rtt_ns = ns > p->rtt_ns ? ns : (7 * p->rtt_ns + ns) / 8;
}

bool probe_is_due(struct qp *qp, uint64_t now_ns)
{
	struct completer *c = &qp->comp;
	struct probe *p = &c->probe;

	if (!p->at || now_ns < p->at)
		return false;
	p->at = 0;
	/* A loss may have been noted after `now_ns` was read. */
	if (now_ns > p->lost_at + MEMORY_NS)
		p->lossy = false;
	if (!p->lossy || !qp->remote || window_is_empty(&qp->window))
		return false;
	if (p->acks + c->stale != p->acks_seen || c->rnr_until) {
		probe_arm(qp, now_ns);
		return false;
	}
	p->lost_at = now_ns;
	p->unanswered++;
	p->outstanding = true;
	c->read_rerequested = false;
	return true;
}
