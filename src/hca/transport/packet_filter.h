/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Flow rules on packets of queue pairs, as the transport sees them: struct hca points to a filter while
 * there are any (raw/rdma_steer.c), and to none otherwise. The QP's lock is held, inside an epoch
 * section.
 */
#ifndef HCA_PACKET_FILTER_H
#define HCA_PACKET_FILTER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "hca/hca.h"

struct qp;
struct roce_pkt;

struct packet_filter {
	/* False: a rule drops the packet. `grh` is that of a datagram which arrived, or NULL. */
	bool (*pass)(const struct qp *qp, const struct roce_pkt *pkt, const uint8_t *grh, bool out);
	bool rx, tx; /* there are rules for packets of this direction */
};

static inline const struct packet_filter *packet_filter_get(void)
{
	/* [PF1] pairs with rdma_steer_update(): rules before the filter */
	return atomic_load_explicit(&hca.packet_filter, memory_order_acquire);
}

static inline bool packet_filter_pass(const struct qp *qp, const struct roce_pkt *pkt,
				      const uint8_t *grh, bool out)
{
	const struct packet_filter *f = packet_filter_get();

	return likely(!f) || f->pass(qp, pkt, grh, out);
}

#endif
