/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts the packets and bytes of a queue pair for its port. Bytes are those between the start of a packet and the
 * link's own check sum: the headers from the link's on, payload and padding, and the ICRC (PortXmitData of IBTA
 * volume 1, chapter 16, which counts in units of 4). Within the host, where a record can hold a whole message,
 * the packets are counted that the path MTU would have made of it. The QP's lock is held.
 */
#ifndef HCA_QP_TRAFFIC_H
#define HCA_QP_TRAFFIC_H

#include "fabric/traffic_block.h"
#include "hca/transport/qp_types.h"
#include "roce/opcode.h"

struct hca_send;

/* The QP uses the port from now on; `counts` of hca_port_counts(). */
void qp_traffic_begin(struct qp *qp, _Atomic uint64_t *counts);
void qp_traffic_end(struct qp *qp);
/* The port, the address of the peer or the path MTU has changed. */
void qp_traffic_set_path(struct qp *qp);

/* An unusual packet: longer than the MTU, or a datagram, or of a QP without a block. */
void qp_traffic_unusual(struct qp *qp, const struct roce_pkt *pkt, uint32_t len, bool out);
/* A datagram leaves for a group; its copies for the members on this host are not counted. */
void qp_traffic_to_group(struct qp *qp, const struct roce_pkt *pkt);
/* A request that was carried out without packets. */
void qp_traffic_direct(struct qp *qp, const struct hca_send *s);

/* A packet has left (`out`), or has arrived; `len` bytes of payload. */
static inline void qp_traffic_count(struct qp *qp, const struct roce_pkt *pkt, uint32_t len,
				    bool out)
{
	const unsigned int headers = roce_opcode_table[pkt->op].length;
	struct fabric_traffic *t = qp->traffic;

	if (unlikely(len >= qp->one_packet || !headers)) {
		qp_traffic_unusual(qp, pkt, len, out);
		return;
	}
	fabric_traffic_add(t, out ? FABRIC_TX_BYTES : FABRIC_RX_BYTES,
			   qp->link_headers + headers + ((len + 3) & ~3u));
	fabric_traffic_add(t, out ? FABRIC_TX_UNICAST : FABRIC_RX_UNICAST, 1);
}

#endif
