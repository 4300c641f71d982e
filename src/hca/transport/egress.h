/* SPDX-License-Identifier: BSD-2-Clause */
/* Sending one packet by whichever carrier the queue pair has. Lock held, inside an epoch section. */
#ifndef HCA_EGRESS_H
#define HCA_EGRESS_H

#include <errno.h>

#include "hca/transport/link_carrier.h"
#include "hca/transport/packet_filter.h"
#include "hca/transport/qp_traffic.h"
#include "hca/transport/qp_types.h"

/* As struct carrier's send(): to a process of this host, or with `peer` NULL beyond it. */
static inline int send_packet(struct qp *qp, struct hca_peer *peer, struct roce_pkt *pkt,
			      const struct hca_list *list, uint64_t off,
			      const struct roce_ref *refs)
{
	const struct carrier *carrier = peer ? &link_carrier : qp->carrier;
	int err;

	/* A packet that a rule drops counts as sent. */
	if (unlikely(!packet_filter_pass(qp, pkt, NULL, true)))
		return 0;
	if (unlikely(!carrier))
		return -ENOTCONN;
	err = carrier->send(qp, peer, pkt, list, off, refs);
	if (likely(!err))
		qp_traffic_count(qp, pkt, pkt->len, true);
	return err;
}

/* Puts on its way what was collected for another host. */
static inline void send_flush(struct qp *qp)
{
	if (qp->carrier)
		qp->carrier->flush(qp);
}

#endif
