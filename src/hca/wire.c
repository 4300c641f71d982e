/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ports of the wire: one UDP endpoint per local address that a queue pair of this process uses,
 * opened by the first and kept. Pollers and the service thread take packets in, whoever comes
 * first; several processes share an address, so what is not ours is passed on over the fabric.
 *
 * Locks: ports_lock guards the list, which only grows; rx_lock of a port is held while packets are
 * handed to QPs (outside of their locks), tx_lock inside of a QP's lock.
 */
#include "hca/wire.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/uio.h>
#include <time.h>

#include "fabric/directory.h"
#include "fabric/service.h"
#include "hca/congestion.h"
#include "hca/dc.h"
#include "hca/forward.h"
#include "hca/gsi.h"
#include "hca/leave.h"
#include "hca/port.h"
#include "hca/send.h"
#include "hca/steer.h"
#include "hca/taps.h"
#include "roce/rx.h"
#include "roce/udp.h"
#include "util/explain.h"
#include "util/forksafe.h"

#define RX_BUDGET     32
#define RETRY_FULL_NS 100000u
#define BUFFER_MOST   (1u << 30)
/*
 * An acknowledgement waits for the program's reply, to leave with it, where so many requests before
 * had one. Not for long: so many looks that find nothing, and so long when there are no looks.
 */
#define ACK_REPLIES 4u
#define ACK_LOOKS   8u
#define ACK_WAIT_NS 1000000u
/*
 * How often pollers are looked after, what they are sure to look within, how often in a row they may
 * fail to (they may have lost the processor), and the penalty.
 */
#define LATE_NS        1000000u
#define LATE_MOMENT_NS 20000
#define LATE_MOST      3u
#define DISTRUST_NS    1000000000u
/* Looks in a row that find somebody else at it, after which that one gets the processor. */
#define DENIED_MOST 64u
/* Empty looks after which a port gets only every QUIET_EVERYth. */
#define QUIET_AFTER 64u
#define QUIET_EVERY 8u
/* Datagrams at once from which on a socket may be filling up; sent ones after which to look. */
#define PRESS_FROM 8
#define LOOK_EVERY 32u

struct wire_port {
	struct roce_addr addr;
	struct roce_endpoint *ep;
	_Atomic bool unwatched;  /* left to the threads that poll */
	_Atomic uint32_t looks;  /* of those; some may get lost */
	uint64_t distrust_ns;    /* until then it is not left to them; service thread */
	uint32_t late;           /* how often in a row they did not look; service thread */
	_Atomic bool behind;     /* something may lie unread that is waited for */
	bool pressed;            /* the socket fills up; under rx_lock */
	_Atomic uint32_t denied; /* looks in a row that found the next lock taken */
	struct fabric_lock tx_lock;
	struct roce_tx *tx;
	_Atomic bool dirty; /* something waits for a flush; written under tx_lock */
	struct fabric_lock rx_lock;
	struct roce_rx *rx;
	struct hca_acks acks;  /* under rx_lock, as are the next two */
	uint64_t acks_ns;      /* since when some of them wait */
	_Atomic bool waiting;  /* some do; written under rx_lock */
	_Atomic uint32_t idle; /* looks in a row that found nothing; written under rx_lock */
	struct steer steer;    /* service thread */
	struct qp *blocked;    /* under tx_lock */
	struct wire_port *next;
};

_Atomic bool hca_wire_is_open;

static pthread_mutex_t ports_lock = PTHREAD_MUTEX_INITIALIZER;
FORKSAFE(ports_lock, FORKSAFE_OBJECT);
static _Atomic(struct wire_port *) ports;

bool wire_forced(void)
{
	static _Atomic int forced = -1;

	if (unlikely(atomic_load_explicit(&forced, memory_order_relaxed) < 0)) {
		const char *path = getenv("VERBENA_PATH");

		atomic_store(&forced, path && *path ? !strcmp(path, "wire") : taps_want_wire());
	}
	return atomic_load_explicit(&forced, memory_order_relaxed);
}

/* ---- ports ---- */

static void readable(void *arg, uint32_t events);
static void group_readable(void *arg, uint32_t events);
static void poll_port(struct wire_port *port, bool defer);
static void settle_at_once(void);

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
	uint64_t now = timer_now();

	for (unsigned int i = 0; i < array_size(refused); i++)
		if (now < refused[i].until_ns && !memcmp(refused[i].gid, gid, 16))
			return refused[i].err;
	return 0;
}

static void remember_refusal(const uint8_t gid[16], int err)
{
	unsigned int i = refused_next++ % array_size(refused);

	memcpy(refused[i].gid, gid, 16);
	refused[i].until_ns = timer_now() + RETRY_OPEN_NS;
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

/* Refusals are explained where they happen; traffic on the host goes on without a wire. */
static int open_port(struct wire_port *port)
{
	const uint32_t bytes = buffer_wanted();
	const struct roce_endpoint_opts opts = {
		.taps = taps_get(),
		.sndbuf = bytes,
		.rcvbuf = bytes,
	};
	int err = roce_endpoint_open(&port->addr, &opts, &port->ep);

	if (err)
		return err;
	err = roce_tx_create(port->ep, &port->tx);
	if (err)
		goto close_ep;
	err = roce_rx_create(&port->rx);
	if (err)
		goto destroy_tx;
	steer_begin(&port->steer, port->ep, timer_now());
	err = fabric_service_add_fd(roce_endpoint_fd(port->ep), EPOLLIN, readable, port);
	if (err)
		goto end_steer;
	/* Groups that are joined later; without it they are heard while somebody polls. */
	fabric_service_add_fd(roce_endpoint_group_fd(port->ep), EPOLLIN, group_readable, port);
	leave_call(settle_at_once);
	atomic_store(&hca_wire_is_open, true);
	return 0;
end_steer:
	steer_end(&port->steer, port->ep);
	roce_rx_destroy(port->rx);
destroy_tx:
	roce_tx_destroy(port->tx);
close_ep:
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
	port->next = atomic_load(&ports);
	/* [W1] pairs with wire_poll_ports(): the port before its pointer */
	atomic_store(&ports, port);
	*out = port;
	return 0;
}

/* `patient`: on a data path, where a refusal a moment ago will do. */
static int get_port(const struct hca_gid_entry *src, bool patient, struct wire_port **out)
{
	struct wire_port *port;
	int err = 0;

	pthread_mutex_lock(&ports_lock);
	for (port = atomic_load(&ports); port; port = port->next)
		if (!memcmp(port->addr.gid, src->gid.raw, sizeof(port->addr.gid)))
			break;
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

int wire_check(const struct qp *qp, unsigned int port_num, const struct hca_av *av)
{
	struct hca_gid_entry src;
	struct wire_port *port;

	if (!hca_port_gid_quick(qp->pub.ctx->adapter, port_num, av->sgid_index, &src))
		return 0; /* the check of values says more about it */
	return get_port(&src, false, &port);
}

int wire_check_sport(const struct qp *qp, const struct hca_av *av, uint16_t port)
{
	struct hca_gid_entry src;
	struct wire_port *w;
	int err;

	if (!hca_port_gid_quick(qp->pub.ctx->adapter, qp->attr.port, av->sgid_index, &src))
		return explain(EINVAL, "the entry %u of the GID table is empty", av->sgid_index);
	err = get_port(&src, false, &w);
	return err ? err : roce_endpoint_source(w->ep, port);
}

int wire_connect(struct qp *qp, const struct hca_av *av)
{
	const struct hca_adapter *a = qp->pub.ctx->adapter;
	struct hca_gid_entry src;
	struct qp_wire *w = qp->wire;
	struct roce_dest dest = { .tclass = av->traffic_class, .ttl = av->hop_limit };
	struct roce_endpoint_limits limits;
	int err;

	if (likely(w && w->sgid_index == av->sgid_index && w->tclass == av->traffic_class &&
		   w->sport == av->udp_sport && !memcmp(&w->dgid, &av->dgid, sizeof(w->dgid))))
		return 0;
	if (!hca_port_gid_quick(a, qp->attr.port, av->sgid_index, &src))
		return -EINVAL;
	if (!w) {
		w = calloc(1, sizeof(*w));
		if (!w)
			return -ENOMEM;
		qp->wire = w;
	}
	err = get_port(&src, true, &w->port);
	if (err) {
		free(w);
		qp->wire = NULL;
		return err;
	}
	/* The kernel counts what it has allocated, which is more than what it has received. */
	roce_endpoint_limits(w->port->ep, &limits);
	w->read_bytes = limits.rcvbuf / 2;
	memcpy(dest.addr.gid, av->dgid.raw, sizeof(dest.addr.gid));
	dest.addr.ifindex = src.ifindex;
	w->dgid = av->dgid;
	w->sgid_index = av->sgid_index;
	w->tclass = av->traffic_class;
	w->sport = av->udp_sport;
	/* The port spreads flows, no more: where it is not to be had, they take the usual one. */
	if (av->udp_sport && !roce_endpoint_source(w->port->ep, av->udp_sport))
		dest.sport = av->udp_sport;
	return roce_path_init(&w->path, w->port->ep, &dest);
}

void wire_listen(struct qp *qp)
{
	const struct hca_adapter *a = qp->pub.ctx->adapter;
	struct hca_gid_entry e;
	struct wire_port *port;

	for (unsigned int i = 0; i < a->limits.gid_table_len; i++)
		if (hca_port_gid_quick(a, qp->attr.port, i, &e) && e.type == HCA_GID_ROCE_V2)
			get_port(&e, true, &port);
}

/* ---- groups ---- */

static bool is_ipv4(const struct hca_gid *gid)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid->raw, mapped, sizeof(mapped));
}

/* On every interface of the port, by its first address of the group's kind. */
static void for_each_interface(struct qp *qp, const struct hca_gid *group,
			       int (*fn)(struct roce_endpoint *ep, const struct roce_addr *group))
{
	const struct hca_adapter *a = qp->pub.ctx->adapter;
	unsigned int seen[16], n = 0, k;
	struct roce_addr addr = { 0 };
	struct hca_gid_entry e;
	struct wire_port *port;

	memcpy(addr.gid, group->raw, sizeof(addr.gid));
	for (unsigned int i = 0; i < a->limits.gid_table_len && n < array_size(seen); i++) {
		if (!hca_port_gid_quick(a, qp->attr.port ? qp->attr.port : 1, i, &e) ||
		    e.type != HCA_GID_ROCE_V2 || is_ipv4(&e.gid) != is_ipv4(group))
			continue;
		for (k = 0; k < n && seen[k] != e.ifindex; k++)
			;
		if (k < n || get_port(&e, true, &port))
			continue;
		seen[n++] = e.ifindex;
		fn(port->ep, &addr);
	}
}

void wire_join(struct qp *qp, const struct hca_gid *group)
{
	for_each_interface(qp, group, roce_endpoint_join);
}

void wire_leave(struct qp *qp, const struct hca_gid *group)
{
	for_each_interface(qp, group, roce_endpoint_leave);
}

void wire_send_group(struct qp *qp, const struct hca_av *av, const struct roce_pkt *pkt,
		     const struct hca_list *list)
{
	struct roce_pkt out = *pkt;
	struct hca_gid_entry src;

	if (!hca_port_gid_quick(qp->pub.ctx->adapter, qp->attr.port, av->sgid_index, &src) ||
	    src.type != HCA_GID_ROCE_V2 || is_ipv4(&src.gid) != is_ipv4(&av->dgid) ||
	    wire_connect(qp, av))
		return;
	out.flags &= ~(ROCE_PKT_GRH | ROCE_PKT_MCAST);
	out.dqpn = 0xffffff;
	wire_send(qp, &out, list, 0);
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
	for (struct wire_port *port = atomic_load(&ports); port; port = port->next) {
		unblock(port, qp);
		drop_ack(port, qp);
	}
	free(qp->wire);
	qp->wire = NULL;
}

/* ---- sending ---- */

/* A careful or null piece cannot be handed to the socket as it is. */
static bool plain_pieces(const struct hca_list *list, uint64_t off, uint32_t len, struct iovec *iov,
			 size_t *count)
{
	const struct hca_seg *seg = list->seg;

	*count = 0;
	while (len) {
		uint64_t n;

		while (off >= seg->len) {
			off -= seg->len;
			seg++;
		}
		if (seg->kind != HCA_SEG_PLAIN)
			return false;
		n = seg->len - off < len ? seg->len - off : len;
		iov[(*count)++] = (struct iovec){ seg->ptr + off, n };
		off += n;
		len -= n;
	}
	return true;
}

static void block(struct wire_port *port, struct qp *qp)
{
	if (!qp->req.blocked) {
		qp->req.blocked = true;
		qp->blocked_next = port->blocked;
		port->blocked = qp;
	}
	fabric_service_set_deadline(timer_now() + RETRY_FULL_NS);
}

int wire_send(struct qp *qp, struct roce_pkt *pkt, const struct hca_list *list, uint64_t off)
{
	struct wire_port *port = qp->wire->port;
	struct iovec iov[HCA_MAX_SGE];
	char bounce[4096];
	size_t count = 0;
	int err;

	if (pkt->len && !plain_pieces(list, off, pkt->len, iov, &count)) {
		if (pkt->len > sizeof(bounce) || !hca_mem_copy_out(list, off, bounce, pkt->len))
			return -EFAULT;
		iov[0] = (struct iovec){ bounce, pkt->len };
		count = 1;
	}
	fabric_lock(&port->tx_lock);
	taps_sender = qp;
	err = roce_tx_add(port->tx, &qp->wire->path, pkt, iov, count);
	taps_sender = NULL;
	port->dirty = true;
	if (err == -EAGAIN)
		block(port, qp);
	fabric_unlock(&port->tx_lock);
	/* Refused for good: lost, as a wire loses things. */
	return err == -EAGAIN ? err : 0;
}

/* Also sends what fault injection held back and is due. */
static void flush_port(struct wire_port *port)
{
	fabric_lock(&port->tx_lock);
	if (port->dirty || unlikely(roce_tx_due(port->tx) != UINT64_MAX)) {
		port->dirty = roce_tx_flush(port->tx) == -EAGAIN;
		if (port->dirty)
			fabric_service_set_deadline(timer_now() + RETRY_FULL_NS);
		if (unlikely(roce_tx_due(port->tx) != UINT64_MAX))
			fabric_service_set_deadline(roce_tx_due(port->tx));
	}
	fabric_unlock(&port->tx_lock);
}

void wire_flush(struct qp *qp)
{
	if (qp->wire && qp->wire->port->dirty)
		flush_port(qp->wire->port);
}

static uint64_t acks_turn(struct wire_port *port, uint64_t now_ns);

/*
 * A program that polls now and then and looks at memory in between (for an RDMA WRITE, say) leaves
 * packets lying. Then it is not relied upon for a while. Service thread; returns when to look again.
 */
static uint64_t check_pollers(struct wire_port *port, uint64_t now_ns)
{
	const struct timespec moment = { .tv_nsec = LATE_MOMENT_NS };
	struct pollfd fd = { .fd = roce_endpoint_fd(port->ep), .events = POLLIN };
	uint32_t looks = atomic_load_explicit(&port->looks, memory_order_relaxed);

	if (!atomic_load(&port->unwatched))
		return UINT64_MAX;
	if (poll(&fd, 1, 0) == 1) {
		nanosleep(&moment, NULL);
		if (atomic_load_explicit(&port->looks, memory_order_relaxed) != looks) {
			port->late = 0;
		} else if (++port->late >= LATE_MOST) {
			port->late = 0;
			port->distrust_ns = now_ns + DISTRUST_NS;
			if (atomic_exchange(&port->unwatched, false))
				fabric_service_mod_fd(fd.fd, EPOLLIN);
			return UINT64_MAX;
		}
	}
	return now_ns + LATE_NS;
}

bool wire_is_behind(struct qp *qp)
{
	struct wire_port *port = qp->wire ? qp->wire->port : NULL;
	struct pollfd fd = { .events = POLLIN };

	if (!port)
		return false;
	fd.fd = roce_endpoint_fd(port->ep);
	if (poll(&fd, 1, 0) != 1)
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
		fabric_service_set_deadline(timer_now());
}

uint64_t wire_timers(uint64_t now_ns)
{
	uint64_t next_ns = UINT64_MAX, port_ns;
	bool again = false;

	for (struct wire_port *port = atomic_load(&ports); port; port = port->next) {
		struct qp *qp;

		port_ns = acks_turn(port, now_ns);
		if (port_ns < next_ns)
			next_ns = port_ns;
		hca_guard_enter();
		flush_port(port);
		fabric_lock(&port->tx_lock);
		qp = port->blocked;
		port->blocked = NULL;
		fabric_unlock(&port->tx_lock);
		hca_host_run_blocked(qp);
		hca_guard_exit();
		fabric_lock(&port->tx_lock);
		again |= port->dirty || port->blocked;
		fabric_unlock(&port->tx_lock);
		/* packets that were held back, or left lying */
		if (unlikely(atomic_exchange(&port->behind, false) || taps_spoil()))
			poll_port(port, false);
		port_ns = steer_run(&port->steer, port->ep, now_ns);
		if (port_ns < next_ns)
			next_ns = port_ns;
		port_ns = check_pollers(port, now_ns);
		if (port_ns < next_ns)
			next_ns = port_ns;
	}
	return again && now_ns + RETRY_FULL_NS < next_ns ? now_ns + RETRY_FULL_NS : next_ns;
}

/* ---- receiving ---- */

static _Atomic uint64_t dropped[WIRE_DROP_COUNT];

void wire_drop(enum wire_drop why)
{
	atomic_fetch_add_explicit(&dropped[why], 1, memory_order_relaxed);
}

uint64_t wire_dropped(enum wire_drop why)
{
	return atomic_load_explicit(&dropped[why], memory_order_relaxed);
}

const char *wire_drop_name(enum wire_drop why)
{
	static const char *const names[] = {
		[WIRE_DROP_PKEY] = "another partition",
		[WIRE_DROP_NO_QP] = "no such queue pair on this host",
		[WIRE_DROP_STRANGER] = "not from the peer of the connection",
		[WIRE_DROP_KIND] = "not of the queue pair's transport",
		[WIRE_DROP_STATE] = "the queue pair does not receive",
		[WIRE_DROP_QKEY] = "another Q_Key",
		[WIRE_DROP_UNASKED] = "an answer to nothing that is open",
		[WIRE_DROP_SEEN] = "requests that came before",
	};

	return names[why];
}

const struct roce_endpoint *wire_endpoint(unsigned int i)
{
	const struct wire_port *port = atomic_load(&ports);

	while (port && i--)
		port = port->next;
	return port ? port->ep : NULL;
}

static bool is_answer(uint8_t op)
{
	op &= ROCE_PKT_OPCODE_MASK;
	return op >= ROCE_PKT_READ_RESP_FIRST && op <= ROCE_PKT_ATOMIC_ACK;
}

/* Connected queue pairs listen to their peer only; the packet itself does not say who sent it. */
static bool is_from_peer(struct qp *qp, struct forward *f)
{
	if (qp->pub.type == HCA_QP_UD || qp->pub.type == HCA_QP_DCR)
		return true;
	if (memcmp(f->src, qp->attr.av.dgid.raw, sizeof(f->src))) {
		wire_drop(WIRE_DROP_STRANGER);
		return false;
	}
	f->pkt.sqpn = qp->attr.dest_qpn;
	return true;
}

static uint8_t transport_of(const struct qp *qp)
{
	switch (qp->pub.type) {
	case HCA_QP_RC:
		return ROCE_TR_RC;
	case HCA_QP_UC:
		return ROCE_TR_UC;
	case HCA_QP_UD:
		return ROCE_TR_UD;
	case HCA_QP_XRC_SEND:
	case HCA_QP_XRC_RECV:
		return ROCE_TR_XRC;
	case HCA_QP_DCI:
	case HCA_QP_DCT:
	case HCA_QP_DCR:
		return ROCE_TR_DC;
	case HCA_QP_RAW:
		break;
	}
	return 0xff;
}

/* An acknowledgement of one transport must not move a queue pair of another. */
static bool is_of_kind(const struct qp *qp, uint8_t op)
{
	if (op == ROCE_OP_CNP || (op & ROCE_PKT_TRANSPORT_MASK) == transport_of(qp))
		return true;
	wire_drop(WIRE_DROP_KIND);
	return false;
}

static void deliver(struct qp *qp, struct forward *f, const uint8_t *data, struct hca_acks *acks)
{
	struct hca_list list; /* not initialised: it has room for 2 KiB of pieces */

	list.count = 1;
	list.total = f->pkt.len;
	list.seg[0] = (struct hca_seg){ .ptr = (char *)data, .len = f->pkt.len };
	if (unlikely(qp->dct))
		qp = dct_wire_session(qp, f->src, f->dst, &f->pkt);
	if (unlikely(!qp))
		return;
	fabric_lock(&qp->pub.lock);
	if (likely(!qp->dying && is_of_kind(qp, f->pkt.op) && is_from_peer(qp, f))) {
		if (unlikely(f->pkt.flags & ROCE_PKT_FECN))
			congestion_seen(qp, f);
		if (unlikely(f->pkt.op == ROCE_OP_CNP))
			congestion_told(qp);
		else if (is_answer(f->pkt.op))
			completer_packet(qp, &f->pkt, &list);
		else
			responder_packet(qp, NULL, acks, &f->pkt, &list, f->grh);
		wire_flush(qp);
	}
	fabric_unlock(&qp->pub.lock);
}

/* To every queue pair of ours that is in the group; other processes have sockets of their own. */
static void deliver_group(struct wire_port *port, struct forward *f, const uint8_t *data,
			  const struct roce_meta *meta)
{
	struct fabric_reg_entry member[64];
	struct hca_gid src;
	size_t n;

	/* What this host sends itself comes over the fabric. */
	memcpy(src.raw, meta->src.gid, sizeof(src.raw));
	if (hca_gid_is_local(&src))
		return;
	n = fabric_mcast_members(HCA_LINK_ETHERNET, meta->dst.gid, member, array_size(member));
	for (size_t i = 0; i < n && i < array_size(member); i++) {
		struct qp *qp = member[i].owner == fabric_self() ? qp_find(member[i].value) : NULL;

		if (!qp)
			continue;
		f->pkt.dqpn = member[i].value;
		deliver(qp, f, data, &port->acks);
	}
}

static void on_packet(void *arg, const struct roce_pkt *pkt, const struct roce_payload *payload,
		      const struct roce_meta *meta)
{
	struct wire_port *port = arg;
	struct forward f = { .pkt = *pkt };
	struct qp *qp;

	if ((payload->pkey & 0x7fff) != 0x7fff) {
		wire_drop(WIRE_DROP_PKEY);
		return;
	}
	f.pkt.len = payload->len;
	/* Of the two places for the mark, switches know the one in the IP header. */
	if (unlikely(ROCE_ECN(meta->tclass) == ROCE_ECN_CE) && pkt->op != ROCE_OP_CNP)
		f.pkt.flags |= ROCE_PKT_FECN;
	memcpy(f.src, meta->src.gid, sizeof(f.src));
	memcpy(f.dst, meta->dst.gid, sizeof(f.dst));
	if ((pkt->op & ROCE_PKT_TRANSPORT_MASK) == ROCE_TR_UD) {
		roce_meta_grh(meta, f.grh);
		/* Nothing but a complaint keeps who sends datagrams from sending too many. */
		if (unlikely(port->pressed))
			f.pkt.flags |= ROCE_PKT_FECN;
	}
	if (unlikely(meta->multicast)) {
		deliver_group(port, &f, payload->data, meta);
		return;
	}
	qp = qp_find(pkt->dqpn);
	if (likely(qp)) {
		deliver(qp, &f, payload->data, &port->acks);
	} else if (pkt->dqpn == HCA_GSI_QPN) {
		f.pkt.flags |= ROCE_PKT_GRH;
		gsi_packet(&f, payload->data, false);
	} else {
		fabric_id_t owner = fabric_qpn_owner(pkt->dqpn);

		if (owner != FABRIC_NOBODY && owner != fabric_self())
			forward_send(owner, &f, payload->data);
		else
			wire_drop(WIRE_DROP_NO_QP);
	}
}

void wire_forwarded(const void *body, uint32_t len)
{
	struct hca_acks acks = { .count = 0 };
	struct forward f;
	struct qp *qp;

	if (len < sizeof(f))
		return;
	memcpy(&f, body, sizeof(f));
	if (f.pkt.len > len - sizeof(f))
		return;
	if (f.pkt.dqpn == HCA_GSI_QPN) {
		gsi_packet(&f, (const uint8_t *)body + sizeof(f), true);
		return;
	}
	qp = qp_find(f.pkt.dqpn);
	if (!qp)
		return;
	steer_stray(timer_now());
	deliver(qp, &f, (const uint8_t *)body + sizeof(f), &acks);
	hca_host_send_acks(&acks);
}

void wire_replied(struct qp *qp)
{
	struct responder *r = &qp->resp;

	if (r->unanswered) {
		r->unanswered = false;
		if (atomic_load_explicit(&qp->wire->port->idle, memory_order_relaxed) >= ACK_LOOKS)
			r->replies = 0;
		else if (r->replies < ACK_REPLIES)
			r->replies++;
	}
	if (r->ack_due)
		responder_send_ack(qp);
}

/* Those that a reply has taken along are gone. */
static unsigned int prune_acks(struct hca_acks *acks)
{
	unsigned int left = 0;

	for (unsigned int i = 0; i < acks->count; i++) {
		struct qp *qp = acks->qp[i];

		fabric_lock(&qp->pub.lock);
		if (qp->resp.ack_due)
			acks->qp[left++] = qp;
		fabric_unlock(&qp->pub.lock);
	}
	return acks->count = left;
}

/* Sends those that no reply is likely to take along, or all. The port is flushed by the caller. */
static void send_acks(struct wire_port *port, bool all)
{
	struct hca_acks *acks = &port->acks;
	unsigned int left = 0;

	for (unsigned int i = 0; i < acks->count; i++) {
		struct qp *qp = acks->qp[i];

		fabric_lock(&qp->pub.lock);
		if (!all && qp->resp.replies >= ACK_REPLIES) {
			acks->qp[left++] = qp;
		} else if (!qp->dying) {
			if (all)
				qp->resp.replies = 0;
			responder_send_ack(qp);
			if (unlikely(qp->wire && qp->wire->port != port))
				wire_flush(qp);
		}
		fabric_unlock(&qp->pub.lock);
	}
	acks->count = left;
	atomic_store_explicit(&port->waiting, left, memory_order_relaxed);
}

/* Inside a guard, under rx_lock. */
static void take_packets(struct wire_port *port, bool defer)
{
	unsigned int waited = port->acks.count ? prune_acks(&port->acks) : 0, idle;
	int n = roce_rx_poll(port->rx, port->ep, RX_BUDGET, on_packet, port);

	port->pressed = n >= PRESS_FROM && roce_endpoint_is_pressed(port->ep);
	idle = n > 0 ? 0 : atomic_load_explicit(&port->idle, memory_order_relaxed) + 1;
	atomic_store_explicit(&port->idle, idle, memory_order_relaxed);
	if (likely(!port->acks.count))
		return;
	send_acks(port, !defer || (waited && n > 0) || idle >= ACK_LOOKS);
	if (port->acks.count && !waited) {
		port->acks_ns = timer_now();
		/* [W3] pairs with acks_turn(): seen by the turn of a clock that need not be set */
		atomic_exchange(&port->waiting, true);
		fabric_service_set_deadline(port->acks_ns + ACK_WAIT_NS);
	}
}

static void poll_port(struct wire_port *port, bool defer)
{
	bool mine = fabric_service_is_self();
	uint32_t idle;

	if (!fabric_trylock(&port->rx_lock)) {
		uint32_t denied = atomic_load_explicit(&port->denied, memory_order_relaxed) + 1;

		atomic_store_explicit(&port->denied, denied % DENIED_MOST, memory_order_relaxed);
		if (defer && denied >= DENIED_MOST)
			sched_yield();
		return;
	}
	atomic_store_explicit(&port->denied, 0, memory_order_relaxed);
	if (mine)
		hca_service_turn_begin();
	idle = atomic_load_explicit(&port->idle, memory_order_relaxed);
	if (defer && idle > QUIET_AFTER && idle % QUIET_EVERY) {
		atomic_store_explicit(&port->idle, idle + 1, memory_order_relaxed);
	} else {
		hca_guard_enter();
		take_packets(port, defer);
		hca_guard_exit();
	}
	if (unlikely(roce_rx_due(port->rx) != UINT64_MAX))
		fabric_service_set_deadline(roce_rx_due(port->rx));
	fabric_unlock(&port->rx_lock);
	if (port->dirty)
		flush_port(port);
	if (mine)
		hca_service_turn_end();
}

void wire_poll_ports(void)
{
	struct wire_port *first = atomic_load(&ports); /* [W1] */

	for (struct wire_port *port = first; port; port = port->next) {
		uint32_t looks = atomic_load_explicit(&port->looks, memory_order_relaxed);

		atomic_store_explicit(&port->looks, looks + 1, memory_order_relaxed);
		poll_port(port, true);
	}
}

/*
 * Those that have waited for long enough leave. The clock is often set for earlier ones: a program
 * whose replies come in time must not pay for it. Who is at it may keep some back, and look no more.
 */
static uint64_t acks_turn(struct wire_port *port, uint64_t now_ns)
{
	uint64_t next_ns = UINT64_MAX;

	/* [W3] */
	if (!atomic_load(&port->waiting))
		return UINT64_MAX;
	if (!fabric_trylock(&port->rx_lock))
		return now_ns + ACK_WAIT_NS;
	hca_guard_enter();
	if (prune_acks(&port->acks) && now_ns < port->acks_ns + ACK_WAIT_NS)
		next_ns = port->acks_ns + ACK_WAIT_NS;
	else
		send_acks(port, true);
	hca_guard_exit();
	fabric_unlock(&port->rx_lock);
	if (port->dirty)
		flush_port(port);
	return next_ns;
}

static void send_waiting_acks(struct wire_port *port)
{
	if (!fabric_trylock(&port->rx_lock))
		return; /* somebody is at it */
	hca_guard_enter();
	send_acks(port, true);
	hca_guard_exit();
	fabric_unlock(&port->rx_lock);
	if (port->dirty)
		flush_port(port);
}

void wire_pause(void)
{
	for (struct wire_port *port = atomic_load(&ports); port; port = port->next)
		send_waiting_acks(port);
}

void wire_settle(struct qp *qp)
{
	if (!qp->resp.ack_due)
		return;
	responder_send_ack(qp);
	wire_flush(qp);
}

/*
 * A program that leaves without a word to its queue pairs still owes what it has received; and what a
 * fault delays is late, not lost.
 */
__attribute__((destructor)) static void settle_at_exit(void)
{
	wire_pause();
	for (struct wire_port *port = atomic_load(&ports); port; port = port->next)
		if (taps_spoil() && fabric_trylock(&port->tx_lock)) {
			roce_tx_settle(port->tx);
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
static void settle_at_once(void)
{
	for (struct wire_port *port = atomic_load(&ports); port; port = port->next) {
		if (!fabric_trylock(&port->rx_lock))
			continue;
		for (unsigned int i = 0; i < port->acks.count; i++) {
			struct qp *qp = port->acks.qp[i];

			if (!tx_is_free(port) || !fabric_trylock(&qp->pub.lock))
				continue;
			if (!qp->dying && qp->wired && qp->wire->port == port)
				wire_settle(qp);
			fabric_unlock(&qp->pub.lock);
		}
		fabric_unlock(&port->rx_lock);
	}
}

/*
 * While a program polls, packets are its threads' to take: waking up for each of them would only
 * compete with those threads. The socket is watched again when nobody polls any more.
 */
static void group_readable(void *arg, uint32_t events)
{
	poll_port(arg, false);
}

static void readable(void *arg, uint32_t events)
{
	struct wire_port *port = arg;
	int fd = roce_endpoint_fd(port->ep);

	if (fabric_polled() && timer_now() >= port->distrust_ns) {
		fabric_service_mod_fd(fd, 0);
		/* [W2] pairs with wire_idle(): either it sees this, or we see that nobody polls */
		atomic_store(&port->unwatched, true);
		fabric_service_set_deadline(timer_now() + LATE_NS);
		if (fabric_polled())
			return;
		if (atomic_exchange(&port->unwatched, false))
			fabric_service_mod_fd(fd, EPOLLIN);
	}
	poll_port(port, false);
}

void wire_idle(void)
{
	for (struct wire_port *port = atomic_load(&ports); port; port = port->next)
		/* [W2] */
		if (atomic_exchange(&port->unwatched, false))
			fabric_service_mod_fd(roce_endpoint_fd(port->ep), EPOLLIN);
}

void wire_forked(void)
{
	/* The sockets are the parent's; the child opens its own when it needs some. */
	for (struct wire_port *port = atomic_load(&ports); port; port = port->next)
		roce_endpoint_close(port->ep);
	atomic_store(&ports, NULL);
	atomic_store(&hca_wire_is_open, false);
}
