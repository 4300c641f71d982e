/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who takes packets in, and when acknowledgements leave: threads that poll look at every port, the
 * service thread at those whose sockets it watches, which it leaves to the others while they poll.
 */
#include <sched.h>
#include <sys/epoll.h>
#include <time.h>

#include "fabric/poll.h"
#include "fabric/service.h"
#include "hca/inspect/inspect.h"
#include "hca/queue/rx_seq.h"
#include "hca/transport/answer.h"
#include "hca/wire/wire_port.h"

#define RX_BUDGET 32
/*
 * An acknowledgement waits for the program's reply, to leave with it, where so many requests before
 * had one. Not for long: so many looks that find nothing, and so long when there are no looks. It
 * waits when the service thread took the request, too: a program that looks at memory for a write, and
 * at its completions until its own is acknowledged, then finds the peer's next write with the
 * acknowledgement, and needs the thread no more.
 */
#define ACK_REPLIES 4u
#define ACK_LOOKS   8u
#define ACK_WAIT_NS 1000000u
/*
 * Looks in a row that find somebody else at it, after which that one gets the processor. The service
 * thread is there because a packet is, and comes back at once as long as it lies there; a thread that
 * it took the processor from it has to make room for, not merely to offer it: a kernel that owes who
 * slept some time takes no notice of an offer.
 */
#define DENIED_MOST  64u
#define SERVICE_MOST 4u
#define ROOM_NS      20000
/* Empty looks after which a port gets only every QUIET_EVERYth. */
#define QUIET_AFTER 64u
#define QUIET_EVERY 8u
/* Datagrams at once from which on a socket may be filling up. */
#define PRESS_FROM 8

void wire_replied(struct qp *qp)
{
	struct responder *r = &qp->resp;

	if (r->reply_pending) {
		uint8_t replies = qp->replies + (qp->replies < ACK_REPLIES);

		if (atomic_load_explicit(&qp->wire->port->idle, memory_order_relaxed) >= ACK_LOOKS)
			replies = 0;
		r->reply_pending = false;
		atomic_store_explicit(&qp->replies, replies, memory_order_relaxed);
	}
	if (qp->ack_due)
		answer_send_ack(qp);
}

/*
 * Those that a reply has taken along are gone. Without their locks: what made one due happened under our
 * rx_lock, and an end of it that is not seen yet costs one more look. Who makes one due elsewhere sends it.
 */
static inline unsigned int prune_acks(struct hca_acks *acks)
{
	unsigned int left = 0;

	for (unsigned int i = 0; i < acks->count; i++) {
		struct qp *qp = acks->qp[i];

		if (atomic_load_explicit(&qp->ack_due, memory_order_relaxed))
			acks->qp[left++] = qp;
	}
	return acks->count = left;
}

static inline bool expects_reply(const struct qp *qp)
{
	return atomic_load_explicit(&qp->replies, memory_order_relaxed) >= ACK_REPLIES;
}

/* Sends those that no reply is likely to take along, or all. The port is flushed by the caller. */
static inline void send_acks(struct wire_port *port, bool all)
{
	struct hca_acks *acks = &port->acks;
	unsigned int left = 0;

	for (unsigned int i = 0; i < acks->count; i++) {
		struct qp *qp = acks->qp[i];

		if (likely(!all && expects_reply(qp))) {
			acks->qp[left++] = qp;
			continue;
		}
		fabric_lock(&qp->pub.lock);
		if (!qp->dying) {
			if (all)
				atomic_store_explicit(&qp->replies, 0, memory_order_relaxed);
			answer_send_ack(qp);
			if (unlikely(qp->wire && qp->wire->port != port))
				wire_flush(qp);
		}
		fabric_unlock(&qp->pub.lock);
	}
	acks->count = left;
	atomic_store_explicit(&port->waiting, left, memory_order_relaxed);
}

/*
 * While somebody polls, acknowledgements that wait are looked after with the pollers: a clock of
 * their own would wake the service thread for every one of them in vain.
 */
static void begin_wait(struct wire_port *port)
{
	/* [W3] pairs with wire_port_acks_turn() and wire_idle(): what waits before who polls */
	if (!atomic_load_explicit(&port->waiting, memory_order_relaxed))
		atomic_exchange(&port->waiting, true);
	if (fabric_is_polled()) {
		port->acks_ns = fabric_poll_checked_ns();
		return;
	}
	port->acks_ns = hca_now_ns();
	fabric_service_set_deadline(port->acks_ns + ACK_WAIT_NS);
}

/* Inside an epoch section, under rx_lock. */
static void take_packets(struct wire_port *port)
{
	unsigned int waited = port->acks.count ? prune_acks(&port->acks) : 0, idle;
	int n = roce_rx_poll(port->rx, port->ep, RX_BUDGET, wire_port_packet, port);

	port->pressed = n >= PRESS_FROM && roce_endpoint_is_half_full(port->ep);
	idle = n > 0 ? 0 : atomic_load_explicit(&port->idle, memory_order_relaxed) + 1;
	atomic_store_explicit(&port->idle, idle, memory_order_relaxed);
	if (unlikely(inspect_may_spoil()) && roce_rx_due(port->rx) != UINT64_MAX)
		fabric_service_set_deadline(roce_rx_due(port->rx));
	if (likely(!port->acks.count))
		return;
	send_acks(port, (waited && n > 0) || idle >= ACK_LOOKS);
	if (port->acks.count && !waited)
		begin_wait(port);
}

static __attribute__((cold, noinline)) void be_denied(struct wire_port *port, bool mine)
{
	const struct timespec room = { .tv_nsec = ROOM_NS };
	uint32_t denied;

	if (mine) {
		if (++port->service_denied >= SERVICE_MOST)
			nanosleep(&room, NULL);
		return;
	}
	denied = atomic_load_explicit(&port->denied, memory_order_relaxed) + 1;
	atomic_store_explicit(&port->denied, denied % DENIED_MOST, memory_order_relaxed);
	if (denied >= DENIED_MOST)
		sched_yield();
}

void wire_port_poll(struct wire_port *port, bool often)
{
	bool mine = fabric_service_is_self();
	uint32_t idle;

	if (unlikely(!fabric_trylock(&port->rx_lock))) {
		be_denied(port, mine);
		return;
	}
	atomic_store_explicit(&port->denied, 0, memory_order_relaxed);
	if (unlikely(mine)) {
		port->service_denied = 0;
		rx_seq_begin();
	}
	idle = atomic_load_explicit(&port->idle, memory_order_relaxed);
	if (often && idle > QUIET_AFTER && idle % QUIET_EVERY) {
		atomic_store_explicit(&port->idle, idle + 1, memory_order_relaxed);
	} else {
		epoch_enter();
		take_packets(port);
		epoch_exit();
	}
	fabric_unlock(&port->rx_lock);
	if (unlikely(wire_port_is_dirty(port)))
		wire_port_flush(port);
	if (unlikely(mine))
		rx_seq_end();
}

void wire_poll_ports(void)
{
	struct wire_port *first = atomic_load(&wire_ports); /* [W1] */

	for (struct wire_port *port = first; port; port = port->next) {
		uint32_t looks = atomic_load_explicit(&port->looks, memory_order_relaxed);

		atomic_store_explicit(&port->looks, looks + 1, memory_order_relaxed);
		wire_port_poll(port, true);
	}
}

/* All that no reply took along, if they have waited for so long. rx_lock held; returns when else. */
static uint64_t send_old_acks(struct wire_port *port, uint64_t now_ns, uint64_t wait_ns)
{
	if (now_ns < port->acks_ns + wait_ns)
		return port->acks_ns + wait_ns;
	epoch_enter();
	prune_acks(&port->acks);
	send_acks(port, true);
	epoch_exit();
	return UINT64_MAX;
}

/*
 * Those that have waited for long enough leave. The clock is often set for earlier ones: a program
 * whose replies come in time must not pay for it. Who is at it may keep some back, and look no more.
 */
uint64_t wire_port_acks_turn(struct wire_port *port, uint64_t now_ns)
{
	uint64_t next_ns;

	/* [W3] */
	if (!atomic_load(&port->waiting) || fabric_is_polled())
		return UINT64_MAX;
	if (!fabric_trylock(&port->rx_lock))
		return now_ns + ACK_WAIT_NS;
	next_ns = send_old_acks(port, now_ns, ACK_WAIT_NS);
	fabric_unlock(&port->rx_lock);
	if (wire_port_is_dirty(port))
		wire_port_flush(port);
	return next_ns;
}

/* The same while somebody polls; who is at it just now comes again, or is missed next time. */
void wire_port_acks_watch(struct wire_port *port, uint64_t now_ns, uint64_t period_ns)
{
	if (!atomic_load_explicit(&port->waiting, memory_order_relaxed) ||
	    !fabric_trylock(&port->rx_lock))
		return;
	/* They have waited since that look after pollers, or less: for one period, to be sure. */
	send_old_acks(port, now_ns, 2 * period_ns);
	fabric_unlock(&port->rx_lock);
	if (wire_port_is_dirty(port))
		wire_port_flush(port);
}

static void send_waiting_acks(struct wire_port *port)
{
	if (!fabric_trylock(&port->rx_lock))
		return; /* somebody is at it */
	epoch_enter();
	send_acks(port, true);
	epoch_exit();
	fabric_unlock(&port->rx_lock);
	if (wire_port_is_dirty(port))
		wire_port_flush(port);
}

void wire_pause(void)
{
	for (struct wire_port *port = atomic_load(&wire_ports); port; port = port->next)
		send_waiting_acks(port);
}

/*
 * A program that leaves without a word to its queue pairs still owes what it has received; and what a
 * fault delays is late, not lost.
 */
__attribute__((destructor)) static void settle_at_exit(void)
{
	wire_pause();
	for (struct wire_port *port = atomic_load(&wire_ports); port; port = port->next)
		if (inspect_spoil() && fabric_trylock(&port->tx_lock)) {
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

/* The same without destructors, maybe in a signal handler: who holds a lock may be below us. */
void wire_port_settle(void)
{
	for (struct wire_port *port = atomic_load(&wire_ports); port; port = port->next) {
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

/*
 * While a program polls, packets are its threads' to take: waking up for each of them would only
 * compete with those threads. The socket is watched again when nobody polls any more.
 */
void wire_port_group_readable(void *arg, uint32_t events)
{
	wire_port_poll(arg, false);
}

/*
 * A program may leave packets lying at first only: one that waits for a write in memory, until
 * acknowledgements come with it, polls for those from then on.
 */
static bool is_trusted(struct wire_port *port)
{
	uint64_t now_ns = hca_now_ns();

	if (now_ns >= port->distrust_ns)
		return true;
	if (now_ns < port->retrust_ns)
		return false;
	port->retrust_ns = now_ns + WIRE_RETRUST_NS;
	if (wire_port_await_look(port) != LOOK_SEEN)
		return false;
	port->distrust_ns = 0;
	return true;
}

void wire_port_watch(struct wire_port *port, uint32_t events)
{
	fabric_service_mod_fd(roce_endpoint_fd(port->ep), events);
}

void wire_port_readable(void *arg, uint32_t events)
{
	struct wire_port *port = arg;

	if (fabric_is_polled() && is_trusted(port)) {
		wire_port_watch(port, 0);
		/* [W2] pairs with wire_idle(): either it sees this, or we see that nobody polls */
		atomic_store(&port->unwatched, true);
		if (fabric_is_polled())
			return;
		if (atomic_exchange(&port->unwatched, false))
			wire_port_watch(port, EPOLLIN);
	}
	wire_port_poll(port, false);
}
