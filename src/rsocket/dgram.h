/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A datagram rsocket: a UDP socket, and a UD queue pair for each local address that is used.
 *
 * A datagram to a peer whose queue pair is not known goes over the UDP socket; the peer's service
 * thread answers with its queue pair, and later datagrams go there. base.lock guards all members, and
 * what they consist of. The descriptor is that of the UDP socket, on which programs must not read.
 */
#ifndef RSOCKET_DGRAM_H
#define RSOCKET_DGRAM_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <sys/queue.h>

#include "rsocket/cm_owner.h"
#include "rsocket/dgram_wire.h"
#include "rsocket/socket.h"
#include "rsocket/watch.h"
#include "util/hash.h"

/* Room for a datagram with its header. */
#define RS_DGRAM_ROOM RS_SEND_LOW

struct rs_dgram_qp;
struct rs_dest;

/* A datagram that has arrived: in a receive of a queue pair, or copied from the UDP socket. */
struct rs_dgram_msg {
	STAILQ_ENTRY(rs_dgram_msg) link;
	struct rs_dgram_qp *qp; /* NULL: the message is freed when it has been read */
	const uint8_t *data;    /* behind the header */
	size_t len;
	union rs_addr from;
};

struct rs_dgram {
	struct rs_socket base; /* first */
	bool started;          /* the service thread watches the UDP socket */
	bool closed;
	bool connected;
	struct rs_dest *peer;       /* if connected */
	struct rs_dgram_qp *sender; /* by send_lock: that a call waits for */
	struct rs_watch watch;
	int epoll; /* of the completion channels */
	LIST_HEAD(, rs_dgram_qp) qps;
	LIST_HEAD(, rs_dest) all_dests;
	struct hash dests; /* by address */
	STAILQ_HEAD(, rs_dgram_msg) received;
	unsigned int copies; /* of messages from the UDP socket, in `received` */
};

static inline struct rs_dgram *rs_to_dgram(struct rs_entry *entry)
{
	return (struct rs_dgram *)entry;
}

#endif
