/* SPDX-License-Identifier: BSD-2-Clause */
/* Receiving from the ports of the wire: by threads that poll, and by the service thread. */
#ifndef HCA_WIRE_POLL_H
#define HCA_WIRE_POLL_H

#include <stdatomic.h>
#include <stdbool.h>

#include "hca/hca.h"
#include "util/api.h"

struct qp;
struct wire_port;

/* Threads that poll: receives from every port that a QP uses, unless another thread does so already. */
void wire_poll_ports(void);
static inline void wire_poll(void)
{
	if (unlikely(atomic_load_explicit(&hca.wire.is_polled, memory_order_relaxed)))
		wire_poll_ports();
}

/* Receives from a port. `is_poller`: the thread polls again soon, and skips most polls of an idle port. */
void wire_poll_port(struct wire_port *port, bool is_poller);

/* Service thread: receives all that has arrived until now, after a thread that is receiving. */
void wire_poll_arrived(void);

/* Whether packets lie unread at the QP's port. The service thread then reads them. */
bool wire_has_unread(struct qp *qp);
/* A datagram was sent: a program that only sends, and never polls, receives CNPs this way. */
void wire_datagram_sent(struct qp *qp);

#endif
