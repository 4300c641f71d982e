/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/wire/wire_poll.h"

#include <sched.h>
#include <time.h>

#include "fabric/epoch.h"
#include "fabric/lock.h"
#include "fabric/service.h"
#include "hca/queue/rx_seq.h"
#include "hca/transport/qp_types.h"
#include "hca/wire/qp_wire.h"
#include "hca/wire/wire_acks.h"
#include "hca/wire/wire_port.h"
#include "hca/wire/wire_rx.h"
#include "hca/wire/wire_tx.h"
#include "roce/endpoint.h"
#include "roce/rx.h"

#define RX_BUDGET 32
/* Budgets after which packets that keep coming are left to the next poll. */
#define ARRIVED_TURNS 64
/*
 * Polls in a row that find rx_lock taken, after which the caller yields to the thread that holds it.
 * The service thread is called again as long as a packet lies there, and may have preempted that
 * thread: it sleeps, because sched_yield() may return to it at once.
 */
#define CONTENDED_MAX         64u
#define SERVICE_CONTENDED_MAX 4u
#define SERVICE_SLEEP_NS      20000
/* Empty polls after which a port is idle: then only every IDLE_EVERYth poll receives. */
#define IDLE_AFTER 64u
#define IDLE_EVERY 8u
/* Datagrams received at once from which on the receive buffer may be filling up. */
#define HALF_FULL_FROM 8
/* Datagrams sent after which to look for CNPs. */
#define UNREAD_CHECK_EVERY 32u

/* Inside an epoch section, under rx_lock. Returns the number of packets, or an error. */
static int receive(struct wire_port *port)
{
	unsigned int before = port->acks.count ? wire_acks_prune(port) : 0, empty;
	int n = roce_rx_poll(port->rx, port->ep, RX_BUDGET, wire_rx_packet, port);

	port->is_half_full = n >= HALF_FULL_FROM && roce_endpoint_is_half_full(port->ep);
	empty = n > 0 ? 0 : atomic_load_explicit(&port->empty_polls, memory_order_relaxed) + 1;
	atomic_store_explicit(&port->empty_polls, empty, memory_order_relaxed);
	if (unlikely(roce_rx_due(port->rx) != UINT64_MAX))
		hca_wake_at(roce_rx_due(port->rx));
	if (unlikely(port->acks.count))
		wire_acks_after_poll(port, before, n > 0, empty);
	return n;
}

static __attribute__((cold, noinline)) void yield_to_holder(struct wire_port *port, bool is_service)
{
	const struct timespec pause = { .tv_nsec = SERVICE_SLEEP_NS };
	uint32_t contended;

	if (is_service) {
		if (++port->service_rx_contended >= SERVICE_CONTENDED_MAX)
			nanosleep(&pause, NULL);
		return;
	}
	contended = atomic_load_explicit(&port->rx_contended, memory_order_relaxed) + 1;
	atomic_store_explicit(&port->rx_contended, contended % CONTENDED_MAX, memory_order_relaxed);
	if (contended >= CONTENDED_MAX)
		sched_yield();
}

void wire_poll_port(struct wire_port *port, bool is_poller)
{
	bool is_service = fabric_service_is_self();
	uint32_t empty;

	if (unlikely(!fabric_trylock(&port->rx_lock))) {
		yield_to_holder(port, is_service);
		return;
	}
	atomic_store_explicit(&port->rx_contended, 0, memory_order_relaxed);
	if (unlikely(is_service)) {
		port->service_rx_contended = 0;
		rx_seq_begin();
	}
	empty = atomic_load_explicit(&port->empty_polls, memory_order_relaxed);
	if (is_poller && empty > IDLE_AFTER && empty % IDLE_EVERY) {
		atomic_store_explicit(&port->empty_polls, empty + 1, memory_order_relaxed);
	} else {
		epoch_enter();
		receive(port);
		epoch_exit();
	}
	fabric_unlock(&port->rx_lock);
	if (unlikely(wire_port_tx_pending(port)))
		wire_tx_flush_port(port);
	if (unlikely(is_service))
		rx_seq_end();
}

void wire_poll_ports(void)
{
	for (struct wire_port *port = wire_port_first(); port; port = port->next) {
		uint32_t polls = atomic_load_explicit(&port->polls, memory_order_relaxed);

		if (!atomic_load_explicit(&port->is_polled, memory_order_relaxed))
			continue;
		atomic_store_explicit(&port->polls, polls + 1, memory_order_relaxed);
		wire_poll_port(port, true);
	}
}

void wire_poll_arrived(void)
{
	for (struct wire_port *port = wire_port_first(); port; port = port->next) {
		fabric_lock(&port->rx_lock);
		rx_seq_begin();
		epoch_enter();
		for (int i = 0; i < ARRIVED_TURNS && receive(port) >= RX_BUDGET; i++)
			;
		epoch_exit();
		fabric_unlock(&port->rx_lock);
		if (wire_port_tx_pending(port))
			wire_tx_flush_port(port);
		rx_seq_end();
	}
}

bool wire_has_unread(struct qp *qp)
{
	struct wire_port *port = qp->wire ? qp->wire->port : NULL;

	if (!port || !roce_endpoint_has_packets(port->ep))
		return false;
	atomic_store(&port->unread, true);
	return true;
}

void wire_datagram_sent(struct qp *qp)
{
	if (!qp->wire || ++qp->wire->datagrams_sent % UNREAD_CHECK_EVERY)
		return;
	if (wire_has_unread(qp))
		hca_wake_at(hca_now_ns());
}
