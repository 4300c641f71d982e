/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/transport/packet_filter.h"

static bool pass(const struct qp *qp, const struct roce_pkt *pkt, const uint8_t *grh, bool out)
{
	const struct packet_filter *rules =
		atomic_load_explicit(&hca.transport.filter.rules, memory_order_acquire); /* [PF1] */

	if (rules && !rules->pass(qp, pkt, grh, out))
		return false;
	hca.transport.filter.trace->packet(qp, pkt, out);
	return true;
}

/* Bit 0: rules for packets that arrive; bit 1: that leave. */
static const struct packet_filter traced[] = {
	[0] = { .pass = pass, .traced = true },
	[1] = { .pass = pass, .traced = true, .rx = true },
	[2] = { .pass = pass, .traced = true, .tx = true },
	[3] = { .pass = pass, .traced = true, .rx = true, .tx = true },
};

static void publish(const struct packet_filter *rules)
{
	const struct packet_filter *filter = rules;

	if (hca.transport.filter.trace)
		filter = &traced[rules ? rules->rx + 2 * rules->tx : 0];
	/* [PF1] pairs with packet_filter_get() */
	atomic_store_explicit(&hca.packet_filter, filter, memory_order_release);
}

const struct packet_filter *packet_filter_set_rules(const struct packet_filter *rules)
{
	const struct packet_filter *old;

	/* [PF1] */
	old = atomic_exchange_explicit(&hca.transport.filter.rules, rules, memory_order_acq_rel);
	publish(rules);
	return old;
}

void packet_filter_set_trace(const struct packet_trace *trace)
{
	hca.transport.filter.trace = trace;
	publish(NULL);
}

void packet_filter_forked(void)
{
	packet_filter_set_rules(NULL);
}

void packet_filter_direct(const struct qp *qp, const struct hca_send *s)
{
	const struct packet_trace *trace = hca.transport.filter.trace;

	if (trace)
		trace->direct(qp, s);
}
