/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A bound port's interface: a packet socket with a receive ring that the kernel fills, or, when
 * that is not permitted and the interface is a tap of ours, the tap's other end.
 *
 * Frames are taken in by pollers and the service thread, whoever comes first (rx_lock); sending
 * needs no lock, since the kernel has one. Ports are opened once, under the switch's lock, and kept.
 */
#include "hca/netif.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ether/offload.h"
#include "fabric/lock.h"
#include "fabric/service.h"
#include "hca/adapter.h"
#include "hca/guard.h"
#include "hca/port.h"
#include "hca/wq.h"
#include "util/explain.h"

#define RING_FRAMES 1024u
#define RX_BUDGET   256u

#ifndef PACKET_IGNORE_OUTGOING
#define PACKET_IGNORE_OUTGOING 23
#endif

struct netif {
	struct ether_port *port;
	const struct hca_adapter *adapter;
	int fd;
	bool is_tap;
	struct fabric_lock rx_lock;
	uint8_t *ring;
	uint32_t frame_size, next;
	uint8_t copy[ETHER_FRAME_MAX];
};

_Atomic bool hca_netif_any;
static _Atomic(struct netif *) netifs[ETHER_ADAPTERS * ETHER_PORTS];

static struct netif *find(const struct ether_port *port)
{
	/* [N1] pairs with hca_netif_open(): the struct before its pointer */
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

	if (len < ETHER_HEADER || !ether_wish_has(n->port->wish, data))
		return;
	if (unsummed && len <= sizeof(n->copy)) {
		/* From a sender on this machine that leaves sums to an adapter that it never met. */
		if (data != n->copy)
			memcpy(n->copy, data, len);
		frame.data = n->copy;
		ether_fill_l4(n->copy, &ether_frame_parse(&frame)->outer);
	}
	ether_steer(n->port, &frame);
}

/* The kernel took the tag out; the frame gets it back. */
static void take_tagged(struct netif *n, const uint8_t *data, uint32_t len, uint16_t type,
			uint16_t tci, bool unsummed)
{
	if (len < 12 || len + 4 > sizeof(n->copy))
		return;
	memcpy(n->copy, data, 12);
	n->copy[12] = type >> 8;
	n->copy[13] = (uint8_t)type;
	n->copy[14] = tci >> 8;
	n->copy[15] = (uint8_t)tci;
	memcpy(n->copy + 16, data + 12, len - 12);
	take(n, n->copy, len + 4, unsummed);
}

static bool take_slot(struct netif *n)
{
	struct tpacket2_hdr *h = (void *)(n->ring + (size_t)n->next * n->frame_size);
	uint32_t status = __atomic_load_n(&h->tp_status, __ATOMIC_ACQUIRE);
	const uint8_t *data = (const uint8_t *)h + h->tp_mac;
	bool unsummed = status & TP_STATUS_CSUMNOTREADY;

	if (!(status & TP_STATUS_USER))
		return false;
	if (h->tp_snaplen == h->tp_len) {
		if (status & TP_STATUS_VLAN_VALID)
			take_tagged(n, data, h->tp_snaplen,
				    status & TP_STATUS_VLAN_TPID_VALID ? h->tp_vlan_tpid : 0x8100,
				    h->tp_vlan_tci, unsummed);
		else
			take(n, data, h->tp_snaplen, unsummed);
	}
	__atomic_store_n(&h->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
	n->next = (n->next + 1) % RING_FRAMES;
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
	hca_guard_enter();
	hca_rx_begin();
	for (unsigned int i = 0; i < RX_BUDGET && !hca_rx_is_starved(); i++)
		if (!(n->is_tap ? take_tap(n) : take_slot(n)))
			break;
	hca_rx_end();
	hca_guard_exit();
	fabric_unlock(&n->rx_lock);
}

void hca_netif_poll_all(void)
{
	for (unsigned int i = 0; i < array_size(netifs); i++) {
		struct netif *n = atomic_load_explicit(&netifs[i], memory_order_acquire); /* [N1] */

		if (!n)
			continue;
		if (!n->is_tap) {
			struct tpacket2_hdr *h =
				(void *)(n->ring + (size_t)n->next * n->frame_size);

			if (!(__atomic_load_n(&h->tp_status, __ATOMIC_RELAXED) & TP_STATUS_USER))
				continue;
		}
		poll_one(n);
	}
}

static void readable(void *arg, uint32_t events)
{
	(void)events;
	poll_one(arg);
}

/* ---- sending ---- */

void hca_netif_send(struct ether_port *port, const struct ether_frame *frame)
{
	struct netif *n = find(port);
	uint8_t mac[6];
	ssize_t sent;

	hca_port_mac_quick(n->adapter, port->number, mac);
	if (!memcmp(frame->data, mac, sizeof(mac)))
		return; /* to ourselves; the switch had it */
	sent = n->is_tap ? write(n->fd, frame->data, frame->len)
			 : send(n->fd, frame->data, frame->len, MSG_DONTWAIT);
	(void)sent; /* what does not go out is lost, as on a wire */
}

/* ---- opening ---- */

static int map_ring(struct netif *n, uint32_t mtu)
{
	struct tpacket_req req = { 0 };
	int version = TPACKET_V2, one = 1;

	n->frame_size = 2048;
	while (n->frame_size < mtu + 256)
		n->frame_size *= 2;
	req.tp_frame_size = n->frame_size;
	req.tp_frame_nr = RING_FRAMES;
	req.tp_block_size = 65536;
	req.tp_block_nr = RING_FRAMES / (req.tp_block_size / req.tp_frame_size);
	if (setsockopt(n->fd, SOL_PACKET, PACKET_VERSION, &version, sizeof(version)) ||
	    setsockopt(n->fd, SOL_PACKET, PACKET_RX_RING, &req, sizeof(req)))
		return -errno;
	setsockopt(n->fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one));
	n->ring = mmap(NULL, (size_t)req.tp_block_size * req.tp_block_nr, PROT_READ | PROT_WRITE,
		       MAP_SHARED, n->fd, 0);
	return n->ring == MAP_FAILED ? -errno : 0;
}

static int open_socket(struct netif *n, const char *name, uint32_t mtu)
{
	struct sockaddr_ll addr = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	struct packet_mreq all = { .mr_type = PACKET_MR_PROMISC };
	int err;

	addr.sll_ifindex = all.mr_ifindex = (int)if_nametoindex(name);
	if (!addr.sll_ifindex)
		return -errno;
	/* Nothing is received before it is bound to the one interface. */
	n->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (n->fd < 0)
		return -errno;
	err = map_ring(n, mtu);
	if (!err && bind(n->fd, (struct sockaddr *)&addr, sizeof(addr)))
		err = -errno;
	if (!err && setsockopt(n->fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof(all)))
		err = -errno;
	if (err)
		close(n->fd);
	return err;
}

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
	n->is_tap = true;
	return 0;
}

void hca_netif_open(struct ether_port *port, const struct hca_adapter *a)
{
	const char *name = a->ports[port->number - 1].interface;
	struct hca_port_attr attr;
	struct netif *n;
	int err;

	if (!*name || find(port) || hca_port_query(a, port->number, &attr))
		return;
	n = calloc(1, sizeof(*n));
	if (!n)
		return;
	n->port = port;
	n->adapter = a;
	err = open_socket(n, name, 9216);
	if (err && open_tap(n, name)) {
		explain_note(
			"%s port %u: no frames to or from %s: %s; raw packets need CAP_NET_RAW, "
			"or a tap device of your own. The virtual switch works all the same",
			a->name, port->number, name, strerror(-err));
		free(n);
		return;
	}
	/* [N1] */
	atomic_store_explicit(&netifs[port->adapter * ETHER_PORTS + port->number - 1], n,
			      memory_order_release);
	atomic_store(&hca_netif_any, true);
	fabric_service_add_fd(n->fd, EPOLLIN, readable, n);
}

/* The descriptors are the child's, too, and frames read by one are lost for the other. */
void hca_netif_forked(void)
{
	for (unsigned int i = 0; i < array_size(netifs); i++) {
		struct netif *n = atomic_load(&netifs[i]);

		if (n)
			close(n->fd);
		atomic_store(&netifs[i], NULL);
	}
	atomic_store(&hca_netif_any, false);
}
