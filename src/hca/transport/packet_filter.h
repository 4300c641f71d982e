/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Flow rules on packets of queue pairs, and traces of them, as the transport sees them: struct hca points to a
 * filter while there are rules (raw/rdma_steer.c) or packets are traced (inspect/trace.c), and to none otherwise.
 * The QP's lock is held, inside an epoch section.
 */
#ifndef HCA_PACKET_FILTER_H
#define HCA_PACKET_FILTER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "hca/hca.h"

struct hca_send;
struct qp;
struct roce_pkt;

/* Hooks of a trace. */
struct packet_trace {
	/* A packet that no rule drops leaves, or has arrived. */
	void (*packet)(const struct qp *qp, const struct roce_pkt *pkt, bool out);
	/* A request was carried out without packets. */
	void (*direct)(const struct qp *qp, const struct hca_send *s);
};

struct packet_filter {
	/* False: a rule drops the packet. `grh` is that of a datagram which arrived, or NULL. */
	bool (*pass)(const struct qp *qp, const struct roce_pkt *pkt, const uint8_t *grh, bool out);
	bool rx, tx; /* there are rules for packets of this direction */
	bool traced;
};

/* Rules from now on; NULL: none. Returns the former ones. One caller at a time. */
const struct packet_filter *packet_filter_set_rules(const struct packet_filter *rules);
/* Traces packets until the process ends. Before there are queue pairs and rules. */
void packet_filter_set_trace(const struct packet_trace *trace);
/* In the child of a fork, which has no rules. */
void packet_filter_forked(void);
/* For qp_traffic_direct(): a filter is there. */
void packet_filter_direct(const struct qp *qp, const struct hca_send *s);

static inline const struct packet_filter *packet_filter_get(void)
{
	/* [PF1] pairs with publish() of packet_filter.c: rules before the filter */
	return atomic_load_explicit(&hca.packet_filter, memory_order_acquire);
}

static inline bool packet_filter_pass(const struct qp *qp, const struct roce_pkt *pkt,
				      const uint8_t *grh, bool out)
{
	const struct packet_filter *f = packet_filter_get();

	return likely(!f) || f->pass(qp, pkt, grh, out);
}

#endif
