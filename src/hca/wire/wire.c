/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ports of the wire: one UDP endpoint per local address that a queue pair of this process uses,
 * opened by the first and kept. Pollers and the service thread take packets in, whoever comes
 * first; several processes share an address, so what is not ours is passed on over the fabric.
 *
 * Locks: ports_lock guards the list, which only grows; rx_lock of a port is held while packets are
 * handed to QPs (outside of their locks), tx_lock inside of a QP's lock.
 */
#include "hca/device/adapter_list.h"
#include "hca/device/gid_changes.h"
#include "hca/transport/tx_wait.h"
#include "hca/wire/wire_port.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/uio.h>
#include <time.h>

#include "fabric/lock.h"
#include "fabric/service.h"
#include "hca/peers/process_exit.h"
#include "hca/device/port.h"
#include "hca/inspect/inspect.h"
#include "roce/tx_socket.h"
#include "util/explain.h"
#include "util/forksafe.h"

#define RETRY_FULL_NS 100000u
#define BUFFER_MOST   (1u << 30)
/*
 * What pollers are sure to look within: so many times what a system call takes here, since between
 * two looks they may send (an emulated processor needs 35 us for it), but no less and no more than
 * that. When it took so many times longer, more than they stood still (a virtual processor that its
 * host took away). How often in a row they may fail to (they may have lost the processor), and the
 * penalty.
 */
#define LATE_CALLS       40u
#define LATE_MOMENT_NS   20000u
#define LATE_MOMENT_MOST 500000u
#define STALLED_MOMENTS  10u
#define LATE_MOST        3u
#define DISTRUST_NS      1000000000u
/* Sent datagrams after which to look for complaints. */
#define LOOK_EVERY 32u

static pthread_mutex_t ports_lock = PTHREAD_MUTEX_INITIALIZER;
FORKSAFE(ports_lock, FORKSAFE_OBJECT);
_Atomic(struct wire_port *) wire_ports;

bool wire_forced(void)
{
	static _Atomic int forced = -1;

	if (unlikely(atomic_load_explicit(&forced, memory_order_relaxed) < 0)) {
		const char *path = getenv("VERBENA_PATH");

		atomic_store(&forced, path && *path ? !strcmp(path, "wire") : inspect_want_wire());
	}
	return atomic_load_explicit(&forced, memory_order_relaxed);
}

/* ---- ports ---- */

/* An address that could not be opened, so that not every packet asks again. Under ports_lock. */
#define RETRY_OPEN_NS 1000000000u
static struct {
	uint8_t gid[16];
	uint64_t until_ns;
	int err;
} refused[8];
static unsigned int refused_next;

static int recent_refusal(const uint8_t gid[16])
{
	uint64_t now = hca_now_ns();

	for (unsigned int i = 0; i < array_size(refused); i++)
		if (now < refused[i].until_ns && !memcmp(refused[i].gid, gid, 16))
			return refused[i].err;
	return 0;
}

static void remember_refusal(const uint8_t gid[16], int err)
{
	unsigned int i = refused_next++ % array_size(refused);

	memcpy(refused[i].gid, gid, 16);
	refused[i].until_ns = hca_now_ns() + RETRY_OPEN_NS;
	refused[i].err = err;
}

/* What each socket is to hold; 0: as much as there may be. */
static uint32_t buffer_wanted(void)
{
	const char *text = getenv("VERBENA_SOCKET_BUFFER");
	unsigned long bytes;
	char *end;

	if (!text || !*text)
		return 0;
	bytes = strtoul(text, &end, 0);
	if (*end || !bytes || bytes > BUFFER_MOST) {
		explain_note("VERBENA_SOCKET_BUFFER is a number of bytes up to %u, not '%s'",
			     BUFFER_MOST, text);
		return 0;
	}
	return (uint32_t)bytes;
}

static _Atomic bool listens_somewhere; /* for datagrams */

/* Refusals are explained where they happen; traffic on the host goes on without a wire. */
static int open_port(struct wire_port *port)
{
	const uint32_t bytes = buffer_wanted();
	const struct roce_endpoint_opts opts = {
		.inspect = inspect_get(),
		.sndbuf = bytes,
		.rcvbuf = bytes,
	};
	int err = roce_endpoint_open(&port->addr, &opts, &port->ep);

	if (err)
		return err;
	if (atomic_load(&listens_somewhere))
		roce_endpoint_enable_ttl(port->ep);
	reuseport_begin(&port->steer, port->ep, hca_now_ns());
	err = roce_tx_create(port->ep, &port->tx);
	if (err)
		goto end_steer;
	err = roce_rx_create(&port->rx);
	if (err)
		goto destroy_tx;
	err = fabric_service_add_fd(roce_endpoint_fd(port->ep), EPOLLIN, wire_port_readable, port);
	if (err)
		goto destroy_rx;
	/* Groups that are joined later; without it they are heard while somebody polls. */
	fabric_service_add_fd(roce_endpoint_group_fd(port->ep), EPOLLIN, wire_port_group_readable,
			      port);
	process_exit_call(wire_port_settle);
	atomic_store(&hca.wire.is_open, true);
	return 0;
destroy_rx:
	roce_rx_destroy(port->rx);
destroy_tx:
	roce_tx_destroy(port->tx);
end_steer:
	reuseport_end(&port->steer, port->ep);
	roce_endpoint_close(port->ep);
	return explain(-err, "the wire cannot be used: %s", strerror(-err));
}

static int make_port(const struct hca_gid_entry *src, struct wire_port **out)
{
	struct wire_port *port = calloc(1, sizeof(*port));
	int err;

	if (!port)
		return -ENOMEM;
	memcpy(port->addr.gid, src->gid.raw, sizeof(port->addr.gid));
	port->addr.ifindex = src->ifindex;
	err = open_port(port);
	if (err) {
		free(port);
		return err;
	}
	port->next = atomic_load(&wire_ports);
	/* [W1] pairs with wire_poll_ports(): the port before its pointer */
	atomic_store(&wire_ports, port);
	*out = port;
	return 0;
}

/* A link-local address is one of an interface, and its socket's as long as that is there. */
static bool is_at(const struct wire_port *port, const struct hca_gid_entry *src)
{
	return !memcmp(port->addr.gid, src->gid.raw, sizeof(port->addr.gid)) &&
	       (src->gid.raw[0] != 0xfe || port->addr.ifindex == src->ifindex);
}

int wire_port_get(const struct hca_gid_entry *src, bool patient, struct wire_port **out)
{
	struct wire_port *port;
	int err = 0;

	pthread_mutex_lock(&ports_lock);
	for (port = atomic_load(&wire_ports); port; port = port->next)
		if (is_at(port, src))
			break;
	if (port && port->addr.ifindex != src->ifindex) {
		port->addr.ifindex = src->ifindex;
		roce_endpoint_update_interface(port->ep);
	}
	if (!port) {
		if (patient)
			err = recent_refusal(src->gid.raw);
		if (!err) {
			err = make_port(src, &port);
			if (err)
				remember_refusal(src->gid.raw, err);
		}
	}
	pthread_mutex_unlock(&ports_lock);
	*out = port;
	return err;
}

/*
 * Not left to VERBENA_EXPLAIN, but said once: the program can only tell that a connection cannot be
 * made, and what has to be done about it is not up to the program.
 */
static void tell_of_holder(void)
{
	static _Atomic bool told;

	if (!atomic_exchange(&told, true))
		fprintf(stderr, "verbena: %s\n", explain_last());
}

int wire_check(const struct qp *qp, unsigned int port_num, const struct hca_av *av)
{
	struct hca_gid_entry src;
	struct wire_port *port;
	int err;

	if (!hca_port_gid_quick(qp->pub.ctx->adapter, port_num, av->sgid_index, &src))
		return 0; /* the check of values says more about it */
	err = wire_port_get(&src, false, &port);
	if (err == -EADDRINUSE)
		tell_of_holder();
	return err;
}

int wire_check_sport(const struct qp *qp, const struct hca_av *av, uint16_t port)
{
	struct hca_gid_entry src;
	struct wire_port *w;
	int err;

	if (!hca_port_gid_quick(qp->pub.ctx->adapter, qp->attr.port, av->sgid_index, &src))
		return explain(EINVAL, "the entry %u of the GID table is empty", av->sgid_index);
	err = wire_port_get(&src, false, &w);
	return err ? err : roce_tx_socket_open(w->ep, port);
}

/*
 * The source port by which networks tell flows apart. A flow label becomes the port that ConnectX
 * drivers make of it; 0: nobody asked for one.
 */
static uint16_t source_port(const struct hca_av *av)
{
	if (likely(!av->flow_label) || av->udp_sport)
		return av->udp_sport;
	return 0xc000 | ((av->flow_label ^ av->flow_label >> 14) & 0x3fff);
}

static bool has_one_peer(const struct qp *qp)
{
	return qp->pub.type == HCA_QP_RC || qp->pub.type == HCA_QP_UC ||
	       qp->pub.type == HCA_QP_XRC_SEND || qp->pub.type == HCA_QP_XRC_RECV;
}

int wire_connect(struct qp *qp, const struct hca_av *av)
{
	const struct hca_adapter *a = qp->pub.ctx->adapter;
	struct hca_gid_entry src;
	struct qp_wire *w = qp->wire;
	struct roce_dest dest = { .tclass = av->traffic_class, .ttl = av->hop_limit };
	struct roce_endpoint_limits limits;
	uint32_t changes = hca_gid_changes();
	uint16_t sport = source_port(av);
	int err;

	if (likely(w && w->sgid_index == av->sgid_index && w->tclass == av->traffic_class &&
		   w->hops == av->hop_limit && w->sport == sport && w->changes == changes &&
		   !memcmp(&w->dgid, &av->dgid, sizeof(w->dgid))))
		return 0;
	if (!hca_port_gid_quick(a, qp->attr.port, av->sgid_index, &src))
		return -EINVAL;
	if (!w) {
		w = calloc(1, sizeof(*w));
		if (!w)
			return -ENOMEM;
		qp->wire = w;
	}
	err = wire_port_get(&src, true, &w->port);
	if (err) {
		free(w);
		qp->wire = NULL;
		return err;
	}
	/* The kernel counts what it has allocated, which is more than what it has received. */
	roce_endpoint_limits(w->port->ep, &limits);
	qp->read_bytes_most = limits.rcvbuf / 2;
	memcpy(dest.addr.gid, av->dgid.raw, sizeof(dest.addr.gid));
	dest.addr.ifindex = src.ifindex;
	w->dgid = av->dgid;
	w->sgid_index = av->sgid_index;
	w->tclass = av->traffic_class;
	w->changes = changes;
	w->hops = av->hop_limit;
	w->sport = sport;
	/* The port spreads flows, no more: where it is not to be had, they take the usual one. */
	if (sport && !roce_tx_socket_open(w->port->ep, sport))
		dest.sport = sport;
	else if (!sport && has_one_peer(qp))
		dest.sport = roce_tx_socket_for_host(w->port->ep, &dest.addr);
	err = roce_path_init(&w->path, w->port->ep, &dest);
	w->path.sender = qp;
	return err;
}

/* ---- listening ---- */

/*
 * Ports on which datagrams are heard at every address, those included that come later; groups as
 * well. An IPv6 address can be used a second or two after it is there, when the kernel knows that
 * nobody else has it, so failures are followed by a few more attempts.
 */
#define LISTEN_AGAIN 8

static _Atomic bool listens[HCA_ADAPTERS_MAX][HCA_PORTS_MAX];
static _Atomic int listen_again; /* attempts left */
static uint32_t listen_changes;  /* of GID tables; with the next, service thread */
static uint64_t listen_at_ns;

/* False when an address is not ready yet. */
static bool listen_on(const struct hca_adapter *a, unsigned int port_num)
{
	struct hca_gid_entry e;
	struct wire_port *port;
	bool all = true;

	for (unsigned int i = 0; i < a->limits.gid_table_len; i++)
		if (hca_port_gid_quick(a, port_num, i, &e) && e.type == HCA_GID_ROCE_V2) {
			int err = wire_port_get(&e, true, &port);

			if (!err)
				roce_endpoint_enable_ttl(port->ep);
			else if (err == -EADDRNOTAVAIL)
				all = false;
		}
	return all;
}

void wire_follow_gids(bool all)
{
	atomic_store(&listens_somewhere, true);
	hca_port_wake_on_change();
	if (!all) {
		atomic_store(&listen_again, LISTEN_AGAIN);
		fabric_service_set_deadline(hca_now_ns() + RETRY_OPEN_NS);
	}
}

void wire_listen(struct qp *qp)
{
	const struct hca_adapter *a = qp->pub.ctx->adapter;

	atomic_store(&listens[a->index][qp->attr.port - 1], true);
	wire_follow_gids(listen_on(a, qp->attr.port));
}

static uint64_t listen_turn(uint64_t now_ns)
{
	uint32_t changes = hca_gid_changes();
	const struct hca_adapter *const *list;
	bool all = true;
	int count;

	if (changes != listen_changes) {
		listen_changes = changes;
		listen_at_ns = now_ns;
		atomic_store(&listen_again, LISTEN_AGAIN);
	}
	if (likely(!atomic_load(&listen_again)))
		return UINT64_MAX;
	if (now_ns < listen_at_ns)
		return listen_at_ns;
	listen_at_ns = now_ns + RETRY_OPEN_NS;
	atomic_fetch_sub(&listen_again, 1);
	if (hca_adapters_get(&list, &count))
		return UINT64_MAX;
	for (int i = 0; i < count; i++)
		for (unsigned int p = 1; (int)p <= list[i]->port_count; p++)
			if (atomic_load(&listens[i][p - 1]) && !listen_on(list[i], p))
				all = false;
	all &= wire_groups_reach();
	if (all)
		atomic_store(&listen_again, 0);
	return all ? UINT64_MAX : listen_at_ns;
}

static void unblock(struct wire_port *port, struct qp *qp)
{
	struct qp **at;

	fabric_lock(&port->tx_lock);
	for (at = &port->blocked; *at; at = &(*at)->blocked_next)
		if (*at == qp) {
			*at = qp->blocked_next;
			break;
		}
	fabric_unlock(&port->tx_lock);
}

static void drop_ack(struct wire_port *port, struct qp *qp)
{
	struct hca_acks *acks = &port->acks;

	fabric_lock(&port->rx_lock);
	for (unsigned int i = 0; i < acks->count; i++)
		if (acks->qp[i] == qp)
			acks->qp[i--] = acks->qp[--acks->count];
	fabric_unlock(&port->rx_lock);
}

/* The QP is dying or reset; nobody else uses qp->wire. */
void wire_forget(struct qp *qp)
{
	for (struct wire_port *port = atomic_load(&wire_ports); port; port = port->next) {
		unblock(port, qp);
		drop_ack(port, qp);
	}
	free(qp->wire);
	qp->wire = NULL;
}

/* ---- sending ---- */

/* A careful or null piece cannot be handed to the socket as it is: 0 then, else how many. */
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
	if (!qp->req.blocked) {
		qp->req.blocked = true;
		qp->blocked_next = port->blocked;
		port->blocked = qp;
	}
	port->full = true;
	fabric_service_set_deadline(hca_now_ns() + RETRY_FULL_NS);
}

/* tx_lock held. Whoever adds a packet flushes, too, and sees what it wrote itself: no order is needed. */
static void set_dirty(struct wire_port *port, bool dirty)
{
	atomic_store_explicit(&port->dirty, dirty, memory_order_relaxed);
}

static inline __attribute__((always_inline)) int
send_pieces(struct qp *qp, const struct roce_pkt *pkt, const struct iovec *iov, size_t count)
{
	struct qp_wire *w = qp->wire;
	struct wire_port *port = w->port;
	int err;

	fabric_lock(&port->tx_lock);
	err = roce_tx_add(port->tx, &w->path, pkt, iov, count);
	set_dirty(port, true);
	if (unlikely(err == -EAGAIN))
		block(port, qp);
	fabric_unlock(&port->tx_lock);
	/* Refused for good: lost, as a wire loses things. */
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

int wire_send(struct qp *qp, struct roce_pkt *pkt, const struct hca_list *list, uint64_t off)
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
		fabric_service_set_deadline(hca_now_ns() + RETRY_FULL_NS);
	if (due_ns != UINT64_MAX)
		fabric_service_set_deadline(due_ns);
}

/* Also sends what fault injection held back and is due. tx_lock held. */
static inline void flush(struct wire_port *port)
{
	bool dirty;

	if (!wire_port_is_dirty(port) && likely(roce_tx_due(port->tx) == UINT64_MAX))
		return;
	dirty = roce_tx_flush(port->tx) == -EAGAIN;
	set_dirty(port, dirty);
	if (unlikely(port->full != (dirty || port->blocked)))
		port->full = dirty || port->blocked;
	if (unlikely(dirty || roce_tx_due(port->tx) != UINT64_MAX))
		flush_later(port, dirty);
}

void wire_port_flush(struct wire_port *port)
{
	fabric_lock(&port->tx_lock);
	flush(port);
	fabric_unlock(&port->tx_lock);
}

void wire_flush(struct qp *qp)
{
	if (qp->wire && wire_port_is_dirty(qp->wire->port))
		wire_port_flush(qp->wire->port);
}

static uint64_t late_moment(uint64_t call_ns)
{
	uint64_t ns = LATE_CALLS * call_ns;

	return ns < LATE_MOMENT_NS ? LATE_MOMENT_NS : ns > LATE_MOMENT_MOST ? LATE_MOMENT_MOST : ns;
}

enum look wire_port_await_look(struct wire_port *port)
{
	uint32_t looks = atomic_load_explicit(&port->looks, memory_order_relaxed);
	uint64_t began_ns = hca_now_ns(), moment;

	if (!roce_endpoint_has_packets(port->ep))
		return LOOK_NEEDLESS;
	moment = late_moment(hca_now_ns() - began_ns);
	began_ns = hca_now_ns();
	nanosleep(&(struct timespec){ .tv_nsec = (long)moment }, NULL);
	if (atomic_load_explicit(&port->looks, memory_order_relaxed) != looks)
		return LOOK_SEEN;
	return hca_now_ns() - began_ns < STALLED_MOMENTS * moment ? LOOK_MISSED : LOOK_NEEDLESS;
}

/*
 * A program that polls now and then and looks at memory in between (for an RDMA WRITE, say) leaves
 * packets lying. Then they are taken for it, and it is not relied upon for a while if that happens
 * again and again. Service thread.
 */
static void check_pollers(struct wire_port *port, uint64_t now_ns)
{
	enum look look;

	if (!atomic_load(&port->unwatched))
		return;
	look = wire_port_await_look(port);
	if (look == LOOK_SEEN)
		port->late = 0;
	if (look != LOOK_MISSED)
		return;
	wire_port_poll(port, false);
	if (++port->late < LATE_MOST)
		return;
	port->late = 0;
	port->distrust_ns = now_ns + DISTRUST_NS;
	port->retrust_ns = now_ns + WIRE_RETRUST_NS;
	if (atomic_exchange(&port->unwatched, false))
		wire_port_watch(port, EPOLLIN);
}

void wire_watch(uint64_t now_ns, uint64_t period_ns)
{
	for (struct wire_port *port = atomic_load(&wire_ports); port; port = port->next) {
		wire_port_acks_watch(port, now_ns, period_ns);
		check_pollers(port, now_ns);
	}
}

bool wire_is_behind(struct qp *qp)
{
	struct wire_port *port = qp->wire ? qp->wire->port : NULL;

	if (!port || !roce_endpoint_has_packets(port->ep))
		return false;
	atomic_store(&port->behind, true);
	return true;
}

/* Completions of datagrams are there at once, and a poll that finds some does not look. */
void wire_datagram_sent(struct qp *qp)
{
	if (!qp->wire || ++qp->wire->unlooked % LOOK_EVERY)
		return;
	if (wire_is_behind(qp))
		fabric_service_set_deadline(hca_now_ns());
}

/*
 * What a full socket did not take. Who sends just now is not waited for: it may be this very thread that
 * took the processor from it. True if there is more to do, soon.
 */
static bool retry_sends(struct wire_port *port)
{
	bool again;
	struct qp *qp;

	if (!fabric_trylock(&port->tx_lock))
		return port->full || unlikely(inspect_spoil());
	flush(port);
	qp = port->blocked;
	port->blocked = NULL;
	again = wire_port_is_dirty(port);
	fabric_unlock(&port->tx_lock);
	if (likely(!qp))
		return again;
	tx_wait_run(qp);
	fabric_lock(&port->tx_lock);
	again = wire_port_is_dirty(port) || port->blocked;
	fabric_unlock(&port->tx_lock);
	return again;
}

uint64_t wire_timers(uint64_t now_ns)
{
	uint64_t next_ns = listen_turn(now_ns), port_ns;
	bool again = false;

	for (struct wire_port *port = atomic_load(&wire_ports); port; port = port->next) {
		port_ns = wire_port_acks_turn(port, now_ns);
		if (port_ns < next_ns)
			next_ns = port_ns;
		epoch_enter();
		again |= retry_sends(port);
		epoch_exit();
		/* packets that were held back, or left lying */
		if (unlikely(atomic_exchange(&port->behind, false) || inspect_spoil()))
			wire_port_poll(port, false);
		port_ns = reuseport_run(&port->steer, port->ep, now_ns);
		if (port_ns < next_ns)
			next_ns = port_ns;
	}
	return again && now_ns + RETRY_FULL_NS < next_ns ? now_ns + RETRY_FULL_NS : next_ns;
}

const struct roce_endpoint *wire_endpoint(unsigned int i)
{
	const struct wire_port *port = atomic_load(&wire_ports);

	while (port && i--)
		port = port->next;
	return port ? port->ep : NULL;
}

void wire_idle(void)
{
	for (struct wire_port *port = atomic_load(&wire_ports); port; port = port->next) {
		/* [W2] */
		if (atomic_exchange(&port->unwatched, false))
			wire_port_watch(port, EPOLLIN);
		/* [W3] */
		if (atomic_load(&port->waiting))
			fabric_service_set_deadline(hca_now_ns());
	}
}

void wire_forked(void)
{
	/* The sockets are the parent's; the child opens its own when it needs some. */
	for (struct wire_port *port = atomic_load(&wire_ports); port; port = port->next)
		roce_endpoint_close(port->ep);
	atomic_store(&wire_ports, NULL);
	memset((void *)listens, 0, sizeof(listens));
	atomic_store(&listens_somewhere, false);
	wire_groups_forked();
	atomic_store(&hca.wire.is_open, false);
}
