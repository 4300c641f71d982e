/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interface of a port: a packet socket; or, if the interface is a tap device that this process
 * may attach to, the tap's descriptor.
 *
 * Frames are received by threads that poll and by the service thread, one at a time (rx_lock);
 * tx_lock is for senders. An interface is opened once, under the switch's join_lock, and stays open
 * as long as the process.
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
#include "fabric/epoch.h"
#include "fabric/lock.h"
#include "fabric/service.h"
#include "hca/device/adapter.h"
#include "hca/device/lag.h"
#include "hca/device/port.h"
#include "hca/raw/psock.h"
#include "hca/raw/wq.h"
#include "util/explain.h"

#define RX_BUDGET  256u /* frames received in one batch */
#define VLAN_BYTES 4u

struct netif {
	struct ether_port *port;
	const struct hca_adapter *adapter;
	struct psock socket;
	int fd; /* of socket or tap */
	bool is_tap;
	struct fabric_lock rx_lock;
	struct fabric_lock tx_lock;
	bool stuck; /* frames wait for the kernel to take them (EPOLLOUT); under tx_lock */
	uint8_t copy[ETHER_FRAME_MAX]; /* a frame that is changed; under rx_lock */
};

/* ---- receiving ---- */

/* `unsummed`: the checksum of TCP or UDP has to be filled in. */
static void receive(struct netif *n, const uint8_t *data, uint32_t len, bool unsummed)
{
	struct ether_frame frame = { .data = data, .len = len };

	if (len < ETHER_HEADER || len > ETHER_FRAME_MAX ||
	    !ether_rx_filter_wants(n->port->filter, data))
		return;
	if (unsummed) {
		/* A sender on this host left the checksum to an adapter that it did not pass. */
		if (data != n->copy)
			memcpy(n->copy, data, len);
		frame.data = n->copy;
		ether_fill_l4(n->copy, &ether_frame_parse(&frame)->outer);
	}
	ether_steer(n->port, &frame);
}

/* Copies the first `len` bytes of a frame, with the VLAN tag that the kernel has removed. */
static uint32_t copy_head(struct netif *n, const struct psock_frame *f, uint32_t len)
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

/* A frame longer than the MTU, whose sender on this host left the segmentation to an adapter. */
static void receive_segments(struct netif *n, const struct psock_frame *f)
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
		uint32_t at = copy_head(n, f, head);

		memcpy(n->copy + at, f->data + head + off, data);
		piece.len = at + data;
		ether_tso_fix(n->copy, piece.len, ether_frame_parse(&piece), i, off,
			      off + data == total);
		piece.parsed_valid = false;
		ether_fill_l3(n->copy, &ether_frame_parse(&piece)->outer);
		receive(n, n->copy, piece.len, true);
	}
}

static bool receive_slot(struct netif *n)
{
	struct psock_frame f;

	if (!psock_peek(&n->socket, &f))
		return false;
	if (likely(f.data && f.len >= ETHER_HEADER)) {
		if (unlikely(f.segment))
			receive_segments(n, &f);
		else if (likely(!f.has_tag))
			receive(n, f.data, f.len, f.unsummed);
		else if (f.len + VLAN_BYTES <= sizeof(n->copy))
			receive(n, n->copy, copy_head(n, &f, f.len), f.unsummed);
	}
	psock_release(&n->socket);
	return true;
}

static bool receive_tap(struct netif *n)
{
	ssize_t len = read(n->fd, n->copy, sizeof(n->copy));

	if (len <= 0)
		return false;
	receive(n, n->copy, len, false);
	return true;
}

static void poll_one(struct netif *n)
{
	if (!fabric_trylock(&n->rx_lock))
		return;
	epoch_enter();
	wq_rx_begin();
	for (unsigned int i = 0; i < RX_BUDGET && !wq_rx_is_paused(); i++)
		if (!(n->is_tap ? receive_tap(n) : receive_slot(n)))
			break;
	wq_rx_end();
	epoch_exit();
	fabric_unlock(&n->rx_lock);
}

void netif_poll_all(void)
{
	/* [NIF2] pairs with netif_open(): the pointer before the count */
	unsigned int count = atomic_load_explicit(&hca.raw.netif.count, memory_order_acquire);

	for (unsigned int i = 0; i < count; i++) {
		struct netif *n = hca.raw.netif.open[i];

		if (n->is_tap || psock_is_ready(&n->socket))
			poll_one(n);
	}
}

/* ---- sending ---- */

/* Frames that the kernel does not take now wait for EPOLLOUT. tx_lock held. */
static void kick(struct netif *n)
{
	bool stuck = !psock_kick(&n->socket);

	if (unlikely(stuck != n->stuck)) {
		n->stuck = stuck;
		fabric_service_mod_fd(n->fd, stuck ? EPOLLIN | EPOLLOUT : EPOLLIN);
	}
}

static void handle_events(void *arg, uint32_t events)
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

bool netif_has_room(struct netif *n)
{
	bool has_room = true;

	if (n->is_tap)
		return true; /* only write() can tell */
	fabric_lock(&n->tx_lock);
	if (!psock_has_room(&n->socket)) {
		kick(n);
		has_room = psock_has_room(&n->socket);
	}
	fabric_unlock(&n->tx_lock);
	return has_room;
}

bool netif_send(struct netif *n, const struct ether_frame *frame)
{
	uint8_t mac[6];

	hca_port_mac_quick(n->adapter, n->port->number, mac);
	if (!memcmp(frame->data, mac, sizeof(mac)))
		return false; /* the port's own address: the switch has delivered the frame */
	if (n->is_tap) {
		ssize_t sent = write(n->fd, frame->data, frame->len);

		(void)sent; /* a full queue loses the frame, as on a wire */
		return false;
	}
	fabric_lock(&n->tx_lock);
	psock_put(&n->socket, frame->data, frame->len);
	fabric_unlock(&n->tx_lock);
	return true;
}

void netif_flush(struct netif *n)
{
	fabric_lock(&n->tx_lock);
	kick(n);
	fabric_unlock(&n->tx_lock);
}

/* ---- opening and closing ---- */

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

/* `slot` is the port's, or that of one of its bonded links. */
static void open_one(struct ether_port *port, const struct hca_adapter *a, const char *name,
		     unsigned int slot)
{
	struct netif_state *state = &hca.raw.netif;
	struct hca_port_attr attr;
	unsigned int count;
	struct netif *n;
	int err = 0;

	if (!*name || atomic_load(&state->port[slot]) || hca_port_query(a, port->number, &attr))
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
			"%s port %u sends and receives no frames on %s: %s. This needs CAP_NET_RAW "
			"or a tap device that this user owns; the virtual switch works without",
			a->name, port->number, name, strerror(-err));
		free(n);
		return;
	}
	/* [NIF1] */
	atomic_store_explicit(&state->port[slot], n, memory_order_release);
	count = atomic_load_explicit(&state->count, memory_order_relaxed);
	state->open[count] = n;
	/* [NIF2] */
	atomic_store_explicit(&state->count, count + 1, memory_order_release);
	fabric_service_add_fd(n->fd, EPOLLIN, handle_events, n);
}

/* An adapter with bonded links has one port: the places of its other ports are free for them. */
_Static_assert(HCA_LAG_LINKS <= ETHER_PORTS, "a place for each link");

void netif_open(struct ether_port *port, const struct hca_adapter *a)
{
	unsigned int slot = ether_port_index(port);

	if (!hca_lag_is_on(a)) {
		open_one(port, a, a->ports[port->number - 1].interface, slot);
		return;
	}
	for (unsigned int i = 0; i < a->lag_count; i++)
		open_one(port, a, a->lag_interfaces[i], slot + i);
}

/* Spreads flows over links: both directions of a flow need not take the same one. */
static uint8_t affinity_of(const struct hca_adapter *a, struct ether_frame *frame)
{
	const struct ether_headers *h = &ether_frame_parse(frame)->outer;
	uint32_t end = h->l4 == ETHER_L4_TCP || h->l4 == ETHER_L4_UDP ? h->l4_off + 4 : h->l4_off;
	uint32_t from = h->l3 ? h->l3_off + (h->l3 == ETHER_L3_IPV4 ? 12 : 8) : 0, hash = 0;

	if (!h->l3)
		end = frame->len < 12 ? frame->len : 12;
	for (uint32_t i = from; i < end; i++)
		hash = hash * 31 + frame->data[i];
	return (hash ^ hash >> 15) % a->lag_count + 1;
}

static struct netif *at_slot(unsigned int slot)
{
	/* [NIF1] pairs with open_one(): the struct before its pointer */
	return atomic_load_explicit(&hca.raw.netif.port[slot], memory_order_acquire);
}

struct netif *netif_find_link(const struct ether_port *port, uint8_t affinity,
			      struct ether_frame *frame)
{
	unsigned int slot = ether_port_index(port);
	struct netif *n = at_slot(slot);

	/* The first link's interface may not exist. */
	if (!n && port->number == 1 && at_slot(slot + 1) &&
	    hca_lag_is_on(at_slot(slot + 1)->adapter))
		n = at_slot(slot + 1);
	if (!n || !hca_lag_is_on(n->adapter))
		return n;
	if (!affinity)
		affinity = affinity_of(n->adapter, frame);
	return at_slot(slot + hca_lag_active(n->adapter, affinity) - 1);
}

/* Parent and child share a socket's queue: a frame that one reads is lost for the other. */
void netif_close_all(void)
{
	unsigned int count = atomic_load(&hca.raw.netif.count);

	for (unsigned int i = 0; i < count; i++) {
		struct netif *n = hca.raw.netif.open[i];

		if (n->is_tap)
			close(n->fd);
		else
			psock_close(&n->socket);
		free(n);
	}
}
