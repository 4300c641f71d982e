/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A carrier takes the packets of queue pairs to the other end: the link to a process of this host
 * (link_carrier.c), the wire (wire/wire_network.c), or a link in memory in tests. What arrives by it
 * is handed to completer_packet() and responder_packet(). Every call has the QP's lock held and is
 * inside an epoch section.
 */
#ifndef HCA_CARRIER_H
#define HCA_CARRIER_H

#include <stdbool.h>
#include <stdint.h>

struct hca_list;
struct hca_peer;
struct qp;
struct roce_pkt;
struct roce_ref;

struct carrier {
	/*
	 * Sends one packet: the header and `pkt->len` bytes of the list from `off` on, or references.
	 * `peer` is the process on this host, NULL for another host. -EAGAIN: no room, the QP runs
	 * again when there is; -ENOTCONN: the link is gone; -EFAULT: memory of the list is gone.
	 */
	int (*send)(struct qp *qp, struct hca_peer *peer, struct roce_pkt *pkt,
		    const struct hca_list *list, uint64_t off, const struct roce_ref *refs);
	/* Puts on its way what send() has collected. */
	void (*flush)(struct qp *qp);
	/* A request was sent: an acknowledgement that was delayed can leave with it. */
	void (*request_sent)(struct qp *qp);
	void (*datagram_sent)(struct qp *qp);
	/* Whether packets that have arrived for this QP are still unread. */
	bool (*has_unread)(struct qp *qp);
};

#endif
