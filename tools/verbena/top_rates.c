/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Numbers are differences of counts that run freely in 32 or 64 bits. A count that has gone back was set to 0 with its
 * queue pair.
 *
 * Latency is not measured by the adapter, as nothing is to be added to its data path. By Little's law the mean time from
 * post to poll is the mean number of requests in between, which each snapshot tells, over the rate at which they are polled. Not known where no
 * snapshot has met one.
 */
#include "top_rates.h"

#include <stdlib.h>
#include <string.h>

#include "hca/transport/hca_qp.h"
#include "util/api.h"

static int by_number(const void *a, const void *b)
{
	const struct snapshot_qp *x = a, *y = b;

	if (x->qpn != y->qpn)
		return x->qpn < y->qpn ? -1 : 1;
	if (x->type != y->type)
		return x->type < y->type ? -1 : 1;
	return x->dest_qpn < y->dest_qpn ? -1 : x->dest_qpn > y->dest_qpn;
}

/* The first member is the snapshot's. */
static const struct top_qp *find_old(const struct top_process *p, const struct snapshot_qp *q)
{
	return p->count ? bsearch(q, p->qp, p->count, sizeof(*p->qp), by_number) : NULL;
}

static uint32_t fill_of(const struct snapshot_qp *q)
{
	uint32_t fill = q->posted - q->polled;

	return fill > q->sq_size ? q->sq_size : fill;
}

static void take_one(struct top_qp *to, const struct top_qp *old, const struct snapshot_qp *q,
		     uint64_t ns)
{
	if (old)
		*to = *old;
	else
		*to = (struct top_qp){ .before = *q, .before_ns = ns, .latency_us = -1 };
	to->now = *q;
	to->now.adapter[sizeof(to->now.adapter) - 1] = 0;
	to->now_ns = ns;
	if (q->flags & SNAPSHOT_POSTED) {
		to->fill_sum += fill_of(q);
		to->samples++;
	}
}

bool top_rates_add(struct top_process *p, const struct snapshot *s)
{
	struct snapshot_qp *sorted = calloc(s->count ? s->count : 1, sizeof(*sorted));
	struct top_qp *qp = calloc(s->count ? s->count : 1, sizeof(*qp));

	if (!sorted || !qp) {
		free(sorted);
		free(qp);
		return false;
	}
	memcpy(sorted, s->qp, s->count * sizeof(*sorted));
	qsort(sorted, s->count, sizeof(*sorted), by_number);
	for (uint32_t i = 0; i < s->count; i++)
		take_one(&qp[i], find_old(p, &sorted[i]), &sorted[i], s->taken_ns);
	free(sorted);
	free(p->qp);
	p->qp = qp;
	p->count = s->count;
	return true;
}

/* ---- differences ---- */

static uint32_t moved32(uint32_t now, uint32_t before)
{
	uint32_t n = now - before;

	return n >> 31 ? now : n;
}

static uint64_t moved64(uint64_t now, uint64_t before)
{
	return now < before ? now : now - before;
}

static double per_second(double n, uint64_t now_ns, uint64_t before_ns)
{
	return now_ns > before_ns ? n * 1e9 / (double)(now_ns - before_ns) : 0;
}

static double rate(uint32_t now, uint32_t before, const struct top_qp *q)
{
	return per_second(moved32(now, before), q->now_ns, q->before_ns);
}

/* Requests that the adapter has completed. */
static uint32_t sent(const struct snapshot_qp *q)
{
	return q->posted - q->pending;
}

/* Messages that have come; requests that a peer of this host carries out by itself do not come. */
static bool received(const struct snapshot_qp *q, uint32_t *out)
{
	switch (q->type) {
	case HCA_QP_RAW:
	case HCA_QP_DCT: /* its sessions receive */
		return false;
	case HCA_QP_UD:
		*out = q->recv.number ? (uint32_t)(q->traffic[FABRIC_RX_UNICAST] +
						   q->traffic[FABRIC_RX_MULTICAST])
				      : q->received;
		return !q->recv.number || q->flags & SNAPSHOT_TRAFFIC;
	default:
		*out = q->requests;
		return true;
	}
}

static double rate_of(const struct top_counts *c, unsigned int what)
{
	return per_second((double)moved64(c->now[what], c->before[what]), c->now_ns, c->before_ns);
}

static void add_bytes(struct top_flow *f, const struct top_counts *c, unsigned int what)
{
	f->bytes += c->now[what];
	f->bytes_s += rate_of(c, what);
}

static void add_packets(struct top_flow *f, const struct top_counts *c, unsigned int what)
{
	f->packets += c->now[what];
	f->packets_s += rate_of(c, what);
}

/* What an end of a connection sent by itself arrived at the other end, and the answers left there. */
static void add_direct(struct top_flow *sender, struct top_flow *receiver,
		       const struct top_counts *c)
{
	add_bytes(sender, c, FABRIC_DIRECT_TX_BYTES);
	add_packets(sender, c, FABRIC_DIRECT_TX_PACKETS);
	add_bytes(receiver, c, FABRIC_DIRECT_RX_BYTES);
	add_packets(receiver, c, FABRIC_DIRECT_RX_PACKETS);
}

static void set_traffic(struct top_qp *q)
{
	struct top_counts own = { .now_ns = q->now_ns, .before_ns = q->before_ns };

	memcpy(own.now, q->now.traffic, sizeof(own.now));
	memcpy(own.before, q->before.traffic, sizeof(own.before));
	add_bytes(&q->tx, &own, FABRIC_TX_BYTES);
	add_packets(&q->tx, &own, FABRIC_TX_UNICAST);
	add_packets(&q->tx, &own, FABRIC_TX_MULTICAST);
	add_bytes(&q->rx, &own, FABRIC_RX_BYTES);
	add_packets(&q->rx, &own, FABRIC_RX_UNICAST);
	add_packets(&q->rx, &own, FABRIC_RX_MULTICAST);
	add_direct(&q->tx, &q->rx, &own);
	add_direct(&q->rx, &q->tx, &q->peer);
}

static void set_flows(struct top_qp *q)
{
	uint32_t now, before;

	q->tx = q->rx = (struct top_flow){ .has_traffic = q->now.flags & SNAPSHOT_TRAFFIC };
	q->tx.has_messages = q->now.flags & SNAPSHOT_POSTED;
	if (q->tx.has_messages) {
		q->tx.messages = sent(&q->now);
		q->tx.messages_s = rate(sent(&q->now), sent(&q->before), q);
	}
	q->rx.has_messages = received(&q->now, &now) && received(&q->before, &before);
	if (q->rx.has_messages) {
		q->rx.messages = now;
		q->rx.messages_s = rate(now, before, q);
	}
	if (q->tx.has_traffic)
		set_traffic(q);
}

static void set_latency(struct top_qp *q)
{
	double polled = rate(q->now.polled, q->before.polled, q);

	q->latency_us = -1;
	if (q->fill_sum && q->now.flags & SNAPSHOT_POSTED && polled > 0)
		q->latency_us = (double)q->fill_sum / q->samples / polled * 1e6;
}

static void set_troubles(struct top_qp *q)
{
	q->retried = moved32(q->now.retried, q->before.retried);
	q->rnr = moved32(q->now.rnr + q->now.no_recv, q->before.rnr + q->before.no_recv);
	q->errors = moved32(q->now.errors, q->before.errors);
}

/* ---- the two ends ---- */

struct end {
	struct top_qp *qp;
	struct top_process *process;
};

static int by_qpn(const void *a, const void *b)
{
	const struct end *x = a, *y = b;

	return x->qp->now.qpn < y->qp->now.qpn ? -1 : x->qp->now.qpn > y->qp->now.qpn;
}

/* Numbers are unique on a host, so two that name each other are connected. */
static void meet(const struct end *e, const struct end *all, size_t count)
{
	struct top_qp to = { .now.qpn = e->qp->now.dest_qpn };
	struct end key = { .qp = &to };
	const struct end *other = bsearch(&key, all, count, sizeof(*all), by_qpn);

	e->qp->peer_pid = 0;
	memcpy(e->qp->peer.before, e->qp->peer.now, sizeof(e->qp->peer.now));
	if (!e->qp->now.dest_qpn || !other || other->qp->now.dest_qpn != e->qp->now.qpn)
		return;
	e->qp->peer_pid = other->process->pid;
	memcpy(e->qp->peer.now, other->qp->now.traffic, sizeof(e->qp->peer.now));
	memcpy(e->qp->peer.before, other->qp->before.traffic, sizeof(e->qp->peer.before));
	e->qp->peer.now_ns = other->qp->now_ns;
	e->qp->peer.before_ns = other->qp->before_ns;
}

static struct end *list_ends(const struct top_host *h, size_t *count)
{
	struct end *all;
	size_t n = 0;

	for (size_t i = 0; i < h->count; i++)
		n += h->process[i]->count;
	all = calloc(n ? n : 1, sizeof(*all));
	*count = 0;
	for (size_t i = 0; all && i < h->count; i++)
		for (size_t k = 0; k < h->process[i]->count; k++)
			all[(*count)++] = (struct end){ &h->process[i]->qp[k], h->process[i] };
	if (*count)
		qsort(all, *count, sizeof(*all), by_qpn);
	return all;
}

void top_rates_roll(struct top_host *h)
{
	size_t count;
	struct end *all = list_ends(h, &count);

	for (size_t i = 0; i < count; i++)
		meet(&all[i], all, count);
	for (size_t i = 0; i < count; i++) {
		struct top_qp *q = all[i].qp;

		set_flows(q);
		set_latency(q);
		set_troubles(q);
		q->before = q->now;
		q->before_ns = q->now_ns;
		q->fill_sum = 0;
		q->samples = 0;
	}
	free(all);
}
