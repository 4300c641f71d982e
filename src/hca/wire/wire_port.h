/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A port of the wire: the UDP endpoint at one local address. Ports are opened by the first queue pair
 * that needs them and stay open. Types and inline functions only.
 *
 * Locks: rx_lock is held while packets are handed to QPs, outside of the QPs' locks; tx_lock is
 * inside of them.
 */
#ifndef HCA_WIRE_PORT_H
#define HCA_WIRE_PORT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "fabric/lock.h"
#include "hca/hca.h"
#include "hca/peers/ack_list.h"
#include "hca/wire/reuseport.h"
#include "roce/addr.h"
#include "roce/inspect.h"

struct qp;
struct roce_endpoint;
struct roce_rx;
struct roce_tx;

struct wire_port {
	struct roce_addr addr;
	struct roce_endpoint *ep;
	struct wire_port *next;
	struct reuseport reuseport; /* service thread */
	/* receiving: threads of the program that poll, or the service thread by epoll; for queue pair 1
	 * alone the latter, so that polls need no system call */
	_Atomic bool is_polled;
	struct fabric_lock rx_lock;
	struct roce_rx *rx;
	_Atomic bool left_to_pollers; /* the service thread does not watch the socket */
	_Atomic uint32_t polls;       /* by pollers; not exact */
	uint64_t watch_until_ns;      /* until then it watches all the same; service thread */
	uint64_t
		pollers_retry_ns; /* ... unless pollers are found to poll in time; service thread */
	uint32_t poll_misses;     /* in a row: packets that no poller took; service thread */
	_Atomic bool unread;      /* packets may lie unread that a QP waits for */
	bool is_half_full;        /* the receive buffer; rx_lock */
	_Atomic uint32_t empty_polls;  /* in a row; written under rx_lock */
	_Atomic uint32_t rx_contended; /* polls in a row that found rx_lock taken */
	uint32_t service_rx_contended; /* the same of the service thread */
	struct hca_acks acks;          /* delayed; rx_lock */
	uint64_t acks_since_ns;        /* the oldest waits since then or later; rx_lock */
	_Atomic bool acks_waiting;     /* acks is not empty; written under rx_lock */
	/* sending */
	struct fabric_lock tx_lock;
	struct roce_tx *tx;
	_Atomic bool tx_pending; /* packets wait for a flush; written under tx_lock */
	_Atomic bool tx_full;    /* the socket did not take all; written under tx_lock */
	struct qp *blocked;      /* QPs that found the socket full; tx_lock */
};

/* Functions of wire_service.c and wire_acks.c that a new port needs; struct hca points to them. */
struct wire_port_events {
	/* the endpoint's sockets, on the service thread; `port` is a struct wire_port */
	void (*readable)(void *port, uint32_t epoll_events);
	void (*group_readable)(void *port, uint32_t epoll_events);
	/* the process exits without destructors */
	void (*process_exits)(void);
};

static inline struct wire_port *wire_port_first(void)
{
	/* [W1] pairs with make_port() of wire_ports.c: the port before its pointer */
	return atomic_load(&hca.wire.ports.first);
}

static inline bool wire_port_tx_pending(struct wire_port *port)
{
	return atomic_load_explicit(&port->tx_pending, memory_order_relaxed);
}

static inline bool wire_faults_on(void)
{
	const struct roce_inspect *inspect = hca.wire.inspect;

	return inspect && inspect->fault && roce_fault_on(inspect->fault);
}

#endif
