/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Probes: how a requester on a lossy wire finds out where the other end stands before the queue
 * pair's own timeout, which is meant for ends that are gone and long for a lost packet.
 *
 * When an acknowledgement or a NAK is lost, or the last packet of what may be on its way, nothing
 * follows that would tell. Once a connection has lost something, one packet, the oldest that is not
 * answered, is therefore sent again after a few round trips of silence, then after twice as long and
 * so on. Whatever the other end answers to it says how far it is. Probes are no retries: the timeout
 * and the retry count run as if there were none. An end that has never answered is not probed after
 * a timeout: it may not be there, and is sent as many packets as the retry count says.
 *
 * A connection without losses is not timed and not probed. Lock held, inside an epoch section.
 */
#include "hca/transport/probe.h"

#include "hca/hca.h"
#include "hca/transport/timer.h"

#define SHORTEST_NS 500000u
#define UNKNOWN_NS  4000000u     /* before the first round trip was measured */
#define MEMORY_NS   10000000000u /* after so long without a loss, there are none */

static bool waits(const struct requester *r)
{
	return r->head != r->tail;
}

/* 0: the queue pair's timeout comes earlier. */
static uint64_t delay_ns(const struct qp *qp)
{
	const struct probe *p = &qp->req.probe;
	uint64_t ns = p->rtt_ns ? 4 * p->rtt_ns : UNKNOWN_NS;

	if (ns < SHORTEST_NS)
		ns = SHORTEST_NS;
	ns <<= p->silent;
	return !p->gone && ns < timer_ack_ns(qp->attr.timeout) ? ns : 0;
}

void probe_arm(struct qp *qp, uint64_t now_ns)
{
	struct probe *p = &qp->req.probe;
	uint64_t ns = delay_ns(qp);

	p->seen = p->moves + qp->req.stale;
	p->at = ns ? now_ns + ns : 0;
	if (p->at)
		timer_wake(qp, p->at);
}

void probe_begin(struct qp *qp)
{
	struct probe *p = &qp->req.probe;

	if (qp->remote && !p->at && waits(&qp->req))
		probe_arm(qp, hca_now_ns());
}

void probe_lost(struct qp *qp)
{
	struct probe *p = &qp->req.probe;

	if (!qp->remote)
		return;
	p->lossy = true;
	p->lost_at = hca_now_ns();
	probe_begin(qp);
}

void probe_expired(struct qp *qp)
{
	struct probe *p = &qp->req.probe;

	p->gone = !p->moves;
	probe_lost(qp);
}

void probe_time(struct requester *r, uint32_t psn)
{
	if (r->probe.timed_at || r->again)
		return; /* an answer to what was sent twice says nothing about time */
	r->probe.timed_psn = psn;
	r->probe.timed_at = hca_now_ns();
}

void probe_measure(struct requester *r)
{
	struct probe *p = &r->probe;
	uint64_t ns;

	if (psn_diff(r->una, p->timed_psn) <= 0)
		return;
	ns = hca_now_ns() - p->timed_at;
	p->timed_at = 0;
	/* Upwards at once: a probe too late costs time, one too early a slow peer's. */
	p->rtt_ns = ns > p->rtt_ns ? ns : (7 * p->rtt_ns + ns) / 8;
}

bool probe_is_due(struct qp *qp, uint64_t now_ns)
{
	struct requester *r = &qp->req;
	struct probe *p = &r->probe;

	if (!p->at || now_ns < p->at)
		return false;
	p->at = 0;
	/* A loss may have been noted after `now_ns` was read. */
	if (now_ns > p->lost_at + MEMORY_NS)
		p->lossy = false;
	if (!p->lossy || !qp->remote || !waits(r))
		return false;
	if (p->moves + r->stale != p->seen || r->rnr_until) {
		probe_arm(qp, now_ns);
		return false;
	}
	p->lost_at = now_ns;
	p->silent++;
	p->out = true;
	r->asked_again = false;
	return true;
}
