/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/wire/wire_tx.h"

#include <errno.h>
#include <sys/uio.h>

#include "fabric/lock.h"
#include "hca/memory/mem.h"
#include "hca/transport/blocked_list.h"
#include "hca/transport/tx_wait.h"
#include "hca/wire/qp_wire.h"
#include "hca/wire/wire_port.h"
#include "roce/header.h"
#include "roce/tx.h"

/* The number of pieces; 0: some are not plain memory, and have to be copied first. */
static inline size_t plain_pieces(const struct hca_list *list, uint64_t off, uint32_t len,
				  struct iovec *iov)
{
	const struct hca_seg *seg = list->seg;
	size_t count = 0;

	for (;; seg++) {
		uint64_t n;

		if (unlikely(off >= seg->len)) {
			off -= seg->len;
			continue;
		}
		if (unlikely(seg->kind != HCA_SEG_PLAIN))
			return 0;
		n = seg->len - off;
		iov[count].iov_base = seg->ptr + off;
		if (likely(len <= n)) {
			iov[count].iov_len = len;
			return count + 1;
		}
		iov[count++].iov_len = n;
		len -= n;
		off = 0;
	}
}

static __attribute__((cold, noinline)) void block(struct wire_port *port, struct qp *qp)
{
	blocked_list_add(&port->blocked, qp);
	port->tx_full = true;
	hca_wake_at(hca_now_ns() + WIRE_TX_RETRY_NS);
}

/* tx_lock held. A thread that adds packets flushes them itself, and sees its own store: relaxed. */
static void set_pending(struct wire_port *port, bool pending)
{
	atomic_store_explicit(&port->tx_pending, pending, memory_order_relaxed);
}

static inline __attribute__((always_inline)) int
send_pieces(struct qp *qp, const struct roce_pkt *pkt, const struct iovec *iov, size_t count)
{
	struct qp_wire *w = qp->wire;
	struct wire_port *port = w->port;
	int err;

	fabric_lock(&port->tx_lock);
	err = roce_tx_add(port->tx, &w->path, pkt, iov, count);
	set_pending(port, true);
	if (unlikely(err == -EAGAIN))
		block(port, qp);
	fabric_unlock(&port->tx_lock);
	/* Another error: the packet is lost, as on any network. */
	return err == -EAGAIN ? err : 0;
}

static __attribute__((cold, noinline)) int send_bounced(struct qp *qp, const struct roce_pkt *pkt,
							const struct hca_list *list, uint64_t off)
{
	char bounce[ROCE_MAX_PAYLOAD];
	struct iovec iov = { bounce, pkt->len };

	if (pkt->len > sizeof(bounce) || !hca_mem_copy_out(list, off, bounce, pkt->len))
		return -EFAULT;
	return send_pieces(qp, pkt, &iov, 1);
}

int wire_tx_send(struct qp *qp, struct roce_pkt *pkt, const struct hca_list *list, uint64_t off)
{
	struct iovec iov[HCA_MAX_SGE];
	size_t count = 0;

	if (unlikely(!qp->wire))
		return -ENOTCONN;
	if (pkt->len) {
		count = plain_pieces(list, off, pkt->len, iov);
		if (unlikely(!count))
			return send_bounced(qp, pkt, list, off);
	}
	return send_pieces(qp, pkt, iov, count);
}

/* tx_lock held. */
static __attribute__((cold, noinline)) void flush_later(struct wire_port *port, bool full)
{
	uint64_t due_ns = roce_tx_due(port->tx);

	if (full)
		hca_wake_at(hca_now_ns() + WIRE_TX_RETRY_NS);
	if (due_ns != UINT64_MAX)
		hca_wake_at(due_ns);
}

/* Also sends packets that fault injection has delayed until now. tx_lock held. */
static inline void flush(struct wire_port *port)
{
	bool pending;

	if (!wire_port_tx_pending(port) && likely(roce_tx_due(port->tx) == UINT64_MAX))
		return;
	pending = roce_tx_flush(port->tx) == -EAGAIN;
	set_pending(port, pending);
	if (unlikely(port->tx_full != (pending || port->blocked)))
		port->tx_full = pending || port->blocked;
	if (unlikely(pending || roce_tx_due(port->tx) != UINT64_MAX))
		flush_later(port, pending);
}

void wire_tx_flush_port(struct wire_port *port)
{
	fabric_lock(&port->tx_lock);
	flush(port);
	fabric_unlock(&port->tx_lock);
}

void wire_tx_flush(struct qp *qp)
{
	if (qp->wire && wire_port_tx_pending(qp->wire->port))
		wire_tx_flush_port(qp->wire->port);
}

void wire_tx_unblock(struct wire_port *port, struct qp *qp)
{
	fabric_lock(&port->tx_lock);
	blocked_list_remove(&port->blocked, qp);
	fabric_unlock(&port->tx_lock);
}

bool wire_tx_retry(struct wire_port *port)
{
	bool again;
	struct qp *qp;

	/* Not waited for: this thread may have preempted the sender that holds the lock. */
	if (!fabric_trylock(&port->tx_lock))
		return port->tx_full || unlikely(wire_faults_on());
	flush(port);
	qp = port->blocked;
	port->blocked = NULL;
	again = wire_port_tx_pending(port);
	fabric_unlock(&port->tx_lock);
	if (likely(!qp))
		return again;
	tx_wait_run(qp);
	fabric_lock(&port->tx_lock);
	again = wire_port_tx_pending(port) || port->blocked;
	fabric_unlock(&port->tx_lock);
	return again;
}
