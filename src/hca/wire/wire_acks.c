/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/wire/wire_acks.h"

#include "fabric/epoch.h"
#include "fabric/lock.h"
#include "fabric/poll.h"
#include "hca/transport/answer.h"
#include "hca/transport/qp_types.h"
#include "hca/wire/qp_wire.h"
#include "hca/wire/wire_port.h"
#include "hca/wire/wire_tx.h"
#include "roce/tx.h"

/*
 * Where a reply is expected, acknowledgements are delayed: until so many polls found no packet, or for so
 * long if no thread polls. Requests that the service thread receives are no exception: a program that
 * waits for an RDMA WRITE by reading memory, and polls until its own request is acknowledged, then finds
 * the peer's next write together with the acknowledgement.
 */
#define MAX_EMPTY_POLLS 8u
#define MAX_DELAY_NS    1000000u

void wire_acks_request_sent(struct qp *qp)
{
	uint32_t empty_polls =
		atomic_load_explicit(&qp->wire->port->empty_polls, memory_order_relaxed);

	answer_request_sent(qp, empty_polls < MAX_EMPTY_POLLS);
	if (qp->ack_due)
		answer_send_ack(qp);
}

/*
 * Without the QPs' locks: acknowledgements become due under this rx_lock, and one whose end is not
 * seen yet is only kept for another poll.
 */
unsigned int wire_acks_prune(struct wire_port *port)
{
	struct hca_acks *acks = &port->acks;
	unsigned int left = 0;

	for (unsigned int i = 0; i < acks->count; i++) {
		struct qp *qp = acks->qp[i];

		if (atomic_load_explicit(&qp->ack_due, memory_order_relaxed))
			acks->qp[left++] = qp;
	}
	return acks->count = left;
}

/* Sends those that no reply is expected for, or all. The caller flushes the port. */
static inline void send_acks(struct wire_port *port, bool all)
{
	struct hca_acks *acks = &port->acks;
	unsigned int left = 0;

	for (unsigned int i = 0; i < acks->count; i++) {
		struct qp *qp = acks->qp[i];

		if (likely(!all && answer_expects_reply(qp))) {
			acks->qp[left++] = qp;
			continue;
		}
		fabric_lock(&qp->pub.lock);
		if (!qp->dying) {
			if (all)
				answer_expect_no_reply(qp);
			answer_send_ack(qp);
			if (unlikely(qp->wire && qp->wire->port != port))
				wire_tx_flush(qp);
		}
		fabric_unlock(&qp->pub.lock);
	}
	acks->count = left;
	atomic_store_explicit(&port->acks_waiting, left, memory_order_relaxed);
}

/*
 * While threads poll, delayed acknowledgements are checked together with the pollers
 * (wire_acks_check()): a deadline for each would wake up the service thread in vain.
 */
static void begin_wait(struct wire_port *port)
{
	/* [W3] pairs with wire_acks_timers() and wire_polling_stopped(): the flag is set before
	 * it is read whether threads poll, so that one of the two sees the other; that load is a relaxed one */
	if (!atomic_load_explicit(&port->acks_waiting, memory_order_relaxed)) {
		atomic_store_explicit(&port->acks_waiting, true, memory_order_relaxed);
		atomic_thread_fence(memory_order_seq_cst);
	}
	if (fabric_is_polled()) {
		port->acks_since_ns = fabric_poll_checked_ns();
		return;
	}
	port->acks_since_ns = hca_now_ns();
	hca_wake_at(port->acks_since_ns + MAX_DELAY_NS);
}

void wire_acks_after_poll(struct wire_port *port, unsigned int before, bool received,
			  uint32_t empty_polls)
{
	send_acks(port, (before && received) || empty_polls >= MAX_EMPTY_POLLS);
	if (port->acks.count && !before)
		begin_wait(port);
}

void wire_acks_forget(struct wire_port *port, struct qp *qp)
{
	struct hca_acks *acks = &port->acks;

	fabric_lock(&port->rx_lock);
	for (unsigned int i = 0; i < acks->count; i++)
		if (acks->qp[i] == qp)
			acks->qp[i--] = acks->qp[--acks->count];
	fabric_unlock(&port->rx_lock);
}

/* Sends all if they have waited for delay_ns; returns when they will have. rx_lock held. */
static uint64_t send_overdue(struct wire_port *port, uint64_t now_ns, uint64_t delay_ns)
{
	if (now_ns < port->acks_since_ns + delay_ns)
		return port->acks_since_ns + delay_ns;
	epoch_enter();
	wire_acks_prune(port);
	send_acks(port, true);
	epoch_exit();
	return UINT64_MAX;
}

/* The deadline is often set for acknowledgements that have left with a reply meanwhile. */
uint64_t wire_acks_timers(struct wire_port *port, uint64_t now_ns)
{
	uint64_t next_ns;

	/* [W3] */
	if (!atomic_load(&port->acks_waiting) || fabric_is_polled())
		return UINT64_MAX;
	if (!fabric_trylock(&port->rx_lock))
		return now_ns + MAX_DELAY_NS;
	next_ns = send_overdue(port, now_ns, MAX_DELAY_NS);
	fabric_unlock(&port->rx_lock);
	if (wire_port_tx_pending(port))
		wire_tx_flush_port(port);
	return next_ns;
}

/* If rx_lock is taken, skips the port: its holder sends them, or the next period does. */
void wire_acks_check(struct wire_port *port, uint64_t now_ns, uint64_t period_ns)
{
	if (!atomic_load_explicit(&port->acks_waiting, memory_order_relaxed) ||
	    !fabric_trylock(&port->rx_lock))
		return;
	/* acks_since_ns is the time of the last check: one full period is over after the second. */
	send_overdue(port, now_ns, 2 * period_ns);
	fabric_unlock(&port->rx_lock);
	if (wire_port_tx_pending(port))
		wire_tx_flush_port(port);
}

static void flush_acks(struct wire_port *port)
{
	if (!fabric_trylock(&port->rx_lock))
		return; /* its holder sends them, or wire_acks_check() does */
	epoch_enter();
	send_acks(port, true);
	epoch_exit();
	fabric_unlock(&port->rx_lock);
	if (wire_port_tx_pending(port))
		wire_tx_flush_port(port);
}

void wire_acks_flush_all(void)
{
	for (struct wire_port *port = wire_port_first(); port; port = port->next)
		flush_acks(port);
}

/*
 * A program that exits without destroying its queue pairs has to acknowledge received packets, and
 * packets that a fault delays have to be sent.
 */
__attribute__((destructor)) static void flush_at_exit(void)
{
	wire_acks_flush_all();
	for (struct wire_port *port = wire_port_first(); port; port = port->next)
		if (wire_faults_on() && fabric_trylock(&port->tx_lock)) {
			roce_tx_send_delayed(port->tx);
			fabric_unlock(&port->tx_lock);
		}
}

static bool tx_is_free(struct wire_port *port)
{
	bool is_free = fabric_trylock(&port->tx_lock);

	if (is_free)
		fabric_unlock(&port->tx_lock);
	return is_free;
}

/* Waits for no lock: the thread that holds it may be the one that the signal interrupted. */
void wire_acks_process_exits(void)
{
	for (struct wire_port *port = wire_port_first(); port; port = port->next) {
		if (!fabric_trylock(&port->rx_lock))
			continue;
		for (unsigned int i = 0; i < port->acks.count; i++) {
			struct qp *qp = port->acks.qp[i];

			if (!tx_is_free(port) || !fabric_trylock(&qp->pub.lock))
				continue;
			if (!qp->dying && qp->remote && qp->wire->port == port)
				answer_settle(qp);
			fabric_unlock(&qp->pub.lock);
		}
		fabric_unlock(&port->rx_lock);
	}
}
