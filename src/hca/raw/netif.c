/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A bound port's interface: a packet socket, or, when the interface is a tap that we may open, the
 * tap's other end.
 *
 * Frames are taken in by pollers and the service thread, whoever comes first (rx_lock); senders
 * take turns (tx_lock). Ports are opened once, under the switch's lock, and kept.
 */
#include "hca/raw/netif.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "ether/offload.h"
#include "ether/steer.h"
#include "fabric/lock.h"
#include "fabric/service.h"
#include "hca/device/adapter.h"
#include "fabric/epoch.h"
#include "hca/device/port.h"
#include "hca/raw/psock.h"
#include "hca/raw/wq.h"
#include "util/explain.h"

#define RX_BUDGET  256u
#define VLAN_BYTES 4u

struct netif {
	struct ether_port *port;
	const struct hca_adapter *adapter;
	struct psock socket;
	int fd; /* of socket or tap */
	bool is_tap;
	struct fabric_lock rx_lock;
	struct fabric_lock tx_lock;
	bool stuck; /* the kernel has yet to take what was put; under tx_lock */
	uint8_t copy[ETHER_FRAME_MAX];
};

static _Thread_local __attribute__((tls_model("initial-exec"))) struct netif *unflushed;

_Atomic bool hca_netif_any;
static _Atomic(struct netif *) netifs[ETHER_ADAPTERS * ETHER_PORTS];

static struct netif *find(const struct ether_port *port)
{
	/* [NI1] pairs with hca_netif_open(): the struct before its pointer */
	return atomic_load_explicit(&netifs[port->adapter * ETHER_PORTS + port->number - 1],
				    memory_order_acquire);
}

bool hca_netif_is_open(const struct ether_port *port)
{
	return find(port);
}

/* ---- receiving ---- */

static void take(struct netif *n, const uint8_t *data, uint32_t len, bool unsummed)
{
	struct ether_frame frame = { .data = data, .len = len };

	if (len < ETHER_HEADER || len > ETHER_FRAME_MAX ||
	    !ether_rx_filter_wants(n->port->filter, data))
		return;
	if (unsummed) {
		/* From a sender on this machine that leaves sums to an adapter that it never met. */
		if (data != n->copy)
			memcpy(n->copy, data, len);
		frame.data = n->copy;
		ether_fill_l4(n->copy, &ether_frame_parse(&frame)->outer);
	}
	ether_steer(n->port, &frame);
}

/* The first `len` bytes of a frame into the copy, with the tag that the kernel took out. */
static uint32_t put_head(struct netif *n, const struct psock_frame *f, uint32_t len)
{
	if (!f->has_tag) {
		memcpy(n->copy, f->data, len);
		return len;
	}
	memcpy(n->copy, f->data, 12);
	n->copy[12] = f->tpid >> 8;
	n->copy[13] = (uint8_t)f->tpid;
	n->copy[14] = f->tci >> 8;
	n->copy[15] = (uint8_t)f->tci;
	memcpy(n->copy + 16, f->data + 12, len - 12);
	return len + VLAN_BYTES;
}

static uint32_t header_length(const uint8_t *data, const struct ether_headers *h)
{
	if (h->l4 == ETHER_L4_TCP)
		return h->l4_off + (uint32_t)(data[h->l4_off + 12] >> 4) * 4;
	return h->l4 == ETHER_L4_UDP ? h->l4_off + 8 : 0;
}

/* Frames longer than the wire takes, as senders on this machine hand them to adapters that cut. */
static void take_segments(struct netif *n, const struct psock_frame *f)
{
	struct ether_parsed whole;
	uint32_t head, total;

	ether_parse(f->data, f->len, &whole);
	head = header_length(f->data, &whole.outer);
	if (whole.tunnel || !head || head >= f->len ||
	    head + VLAN_BYTES + f->segment > sizeof(n->copy))
		return;
	total = f->len - head;
	for (uint32_t off = 0, i = 0; off < total; off += f->segment, i++) {
		uint32_t data = total - off < f->segment ? total - off : f->segment;
		struct ether_frame piece = { .data = n->copy };
		uint32_t at = put_head(n, f, head);

		memcpy(n->copy + at, f->data + head + off, data);
		piece.len = at + data;
		ether_tso_fix(n->copy, piece.len, ether_frame_parse(&piece), i, off,
			      off + data == total);
		piece.parsed_valid = false;
		ether_fill_l3(n->copy, &ether_frame_parse(&piece)->outer);
		take(n, n->copy, piece.len, true);
	}
}

static bool take_slot(struct netif *n)
{
	struct psock_frame f;

	if (!psock_peek(&n->socket, &f))
		return false;
	if (likely(f.data && f.len >= ETHER_HEADER)) {
		if (unlikely(f.segment))
			take_segments(n, &f);
		else if (likely(!f.has_tag))
			take(n, f.data, f.len, f.unsummed);
		else if (f.len + VLAN_BYTES <= sizeof(n->copy))
			take(n, n->copy, put_head(n, &f, f.len), f.unsummed);
	}
	psock_release(&n->socket);
	return true;
}

static bool take_tap(struct netif *n)
{
	ssize_t len = read(n->fd, n->copy, sizeof(n->copy));

	if (len <= 0)
		return false;
	take(n, n->copy, len, false);
	return true;
}

static void poll_one(struct netif *n)
{
	if (!fabric_trylock(&n->rx_lock))
		return;
	epoch_enter();
	hca_rx_begin();
	for (unsigned int i = 0; i < RX_BUDGET && !hca_rx_is_starved(); i++)
		if (!(n->is_tap ? take_tap(n) : take_slot(n)))
			break;
	hca_rx_end();
	epoch_exit();
	fabric_unlock(&n->rx_lock);
}

void hca_netif_poll_all(void)
{
	for (unsigned int i = 0; i < array_size(netifs); i++) {
		struct netif *n = atomic_load_explicit(&netifs[i], memory_order_acquire); /* [NI1] */

		if (!n)
			continue;
		if (!n->is_tap && !psock_is_ready(&n->socket))
			continue;
		poll_one(n);
	}
}

/* ---- sending ---- */

/* With the lock: what could not go on waits for the service thread. */
static void kick(struct netif *n)
{
	bool stuck = !psock_kick(&n->socket);

	if (unlikely(stuck != n->stuck)) {
		n->stuck = stuck;
		fabric_service_mod_fd(n->fd, stuck ? EPOLLIN | EPOLLOUT : EPOLLIN);
	}
}

static void happened(void *arg, uint32_t events)
{
	struct netif *n = arg;

	if (events & EPOLLOUT) {
		fabric_lock(&n->tx_lock);
		kick(n);
		fabric_unlock(&n->tx_lock);
	}
	if (events & EPOLLIN)
		poll_one(n);
}

bool hca_netif_has_room(struct ether_port *port)
{
	struct netif *n = find(port);
	bool has_room = true;

	if (n->is_tap)
		return true; /* who looks at it knows no better */
	fabric_lock(&n->tx_lock);
	if (!psock_has_room(&n->socket)) {
		kick(n);
		has_room = psock_has_room(&n->socket);
	}
	fabric_unlock(&n->tx_lock);
	return has_room;
}

void hca_netif_send(struct ether_port *port, const struct ether_frame *frame)
{
	struct netif *n = find(port);
	uint8_t mac[6];

	hca_port_mac_quick(n->adapter, port->number, mac);
	if (!memcmp(frame->data, mac, sizeof(mac)))
		return; /* to ourselves; the switch had it */
	if (n->is_tap) {
		ssize_t sent = write(n->fd, frame->data, frame->len);

		(void)sent; /* what does not go out is lost, as on a wire */
		return;
	}
	if (unflushed != n)
		hca_netif_flush();
	fabric_lock(&n->tx_lock);
	psock_put(&n->socket, frame->data, frame->len);
	fabric_unlock(&n->tx_lock);
	unflushed = n;
}

void hca_netif_flush(void)
{
	struct netif *n = unflushed;

	if (likely(!n))
		return;
	unflushed = NULL;
	fabric_lock(&n->tx_lock);
	kick(n);
	fabric_unlock(&n->tx_lock);
}

/* ---- opening ---- */

static int open_tap(struct netif *n, const char *name)
{
	struct ifreq req = { .ifr_flags = IFF_TAP | IFF_NO_PI };

	n->fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (n->fd < 0)
		return -errno;
	strncpy(req.ifr_name, name, sizeof(req.ifr_name) - 1);
	if (ioctl(n->fd, TUNSETIFF, &req)) {
		int err = -errno;

		close(n->fd);
		return err;
	}
	return 0;
}

void hca_netif_open(struct ether_port *port, const struct hca_adapter *a)
{
	const char *name = a->ports[port->number - 1].interface;
	struct hca_port_attr attr;
	struct netif *n;
	int err = 0;

	if (!*name || find(port) || hca_port_query(a, port->number, &attr))
		return;
	n = calloc(1, sizeof(*n));
	if (!n)
		return;
	n->port = port;
	n->adapter = a;
	if (!open_tap(n, name)) {
		n->is_tap = true;
	} else {
		err = psock_open(&n->socket, name);
		n->fd = n->socket.fd;
	}
	if (err) {
		explain_note(
			"%s port %u: no frames to or from %s: %s; raw packets need CAP_NET_RAW, "
			"or a tap device of your own. The virtual switch works all the same",
			a->name, port->number, name, strerror(-err));
		free(n);
		return;
	}
	/* [NI1] */
	atomic_store_explicit(&netifs[port->adapter * ETHER_PORTS + port->number - 1], n,
			      memory_order_release);
	atomic_store(&hca_netif_any, true);
	fabric_service_add_fd(n->fd, EPOLLIN, happened, n);
}

/* The descriptors are the child's, too, and frames read by one are lost for the other. */
void hca_netif_forked(void)
{
	for (unsigned int i = 0; i < array_size(netifs); i++) {
		struct netif *n = atomic_load(&netifs[i]);

		if (n && n->is_tap)
			close(n->fd);
		else if (n)
			psock_close(&n->socket);
		atomic_store(&netifs[i], NULL);
	}
	atomic_store(&hca_netif_any, false);
	unflushed = NULL;
}
