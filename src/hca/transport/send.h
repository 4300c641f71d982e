/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Between the requester and the code that turns requests into packets (send.c, datagram.c).
 */
#ifndef HCA_SEND_H
#define HCA_SEND_H

#include <errno.h>

#include "hca/transport/qp_priv.h"
#include "hca/wire/wire.h"

#define HCA_MAX_MESSAGE (1ull << 31)

/* Vendor syndromes as the real adapters give them with their completion status. */
enum {
	SYN_FLUSH = 0xf9,
	SYN_LOCAL_PROT = 0x51,
	SYN_LOCAL_ACCESS = 0x52,
	SYN_LENGTH = 0x32,
	SYN_QP_OP = 0x68,
	SYN_BIND = 0x5d,
	SYN_RETRY = 0x81,
	SYN_RNR = 0x87,
	SYN_REMOTE_ACCESS = 0x88,
	SYN_REMOTE_OP = 0x89,
	SYN_REMOTE_INVALID = 0x8a,
	SYN_BAD_RESPONSE = 0x8b,
};

enum run_result {
	RUN_ON,   /* the request is out of the way */
	RUN_WAIT, /* it stays at `next` until something happens */
	RUN_STOP, /* the queue pair's state has changed */
};

enum run_result send_connected(struct qp *qp, struct hca_send *s, bool reachable);
enum run_result send_datagram(struct qp *qp, struct hca_send *s);

enum run_result send_raw(struct qp *qp, struct hca_send *s);

/* How many reads and atomics the other end takes at a time. */
uint32_t send_most_asked(const struct qp *qp);
/* The length of the pieces in which a read is asked for. */
uint32_t send_read_piece(const struct qp *qp);

/* The QP is called when the link, whose send lock is held, has room again. */
void send_block(struct qp *qp, struct hca_peer *peer);
/* The QP is called after so long. */
void send_later(struct qp *qp, uint64_t ns);

/* The same as below, to a peer that is there. */
int send_record(struct qp *qp, struct hca_peer *peer, const struct roce_pkt *pkt,
		const struct hca_list *list, uint64_t off, const struct roce_ref *refs);

/*
 * Puts one packet on a link, or on the wire: header and `len` bytes of the list from `off` on, or
 * references. -EAGAIN without room (the QP is then called when there is), -ENOTCONN when the link is
 * gone, -EFAULT when memory of the list is not there any more.
 */
static inline int send_packet(struct qp *qp, struct hca_peer *peer, struct roce_pkt *pkt,
			      const struct hca_list *list, uint64_t off,
			      const struct roce_ref *refs)
{
	if (peer)
		return send_record(qp, peer, pkt, list, off, refs);
	return likely(qp->wire) ? wire_send(qp, pkt, list, off) : -ENOTCONN;
}

#endif
