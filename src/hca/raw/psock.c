/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rings are TPACKET_V2, which hands over single slots: a frame is visible as soon as it has
 * arrived, whereas TPACKET_V3 hands over blocks, when they are full or a timer expires. Both rings
 * lie in one mapping, the receive ring first. A virtio header before each frame describes the
 * offloads that its sender has requested (PACKET_VNET_HDR).
 */
#include "hca/raw/psock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/api.h"

#define BLOCK     65536u
#define RX_BLOCKS 128u
#define TX_BLOCKS 32u
#define MTU_MAX   16000u          /* of a slot; the loopback interface has a larger one */
#define BIG_BYTES (65536u + 256u) /* the longest IP packet with its headers */
/* In a slot before the frame: tpacket2_hdr, sockaddr_ll, virtio_net_hdr and alignment. */
#define SLOT_HEADROOM 160u

#ifndef PACKET_IGNORE_OUTGOING
#define PACKET_IGNORE_OUTGOING 23
#endif

static struct tpacket2_hdr *slot(const struct psock_ring *r, uint32_t i)
{
	return (void *)(r->at + (size_t)(i / r->per_block) * BLOCK +
			(size_t)(i % r->per_block) * r->frame_size);
}

static uint32_t status_of(const struct psock_ring *r, uint32_t i)
{
	/* [PS1] pairs with the kernel's barriers: a frame before its status */
	return __atomic_load_n(&slot(r, i)->tp_status, __ATOMIC_ACQUIRE);
}

static uint32_t after(const struct psock_ring *r, uint32_t i)
{
	return i + 1 == r->count ? 0 : i + 1;
}

/* ---- reading ---- */

bool psock_is_ready(const struct psock *s)
{
	return status_of(&s->rx, __atomic_load_n(&s->rx.next, __ATOMIC_RELAXED)) & TP_STATUS_USER;
}

static void read_offloads(const struct virtio_net_hdr *v, struct psock_frame *out)
{
	uint8_t kind = v->gso_type & ~VIRTIO_NET_HDR_GSO_ECN;

	out->unsummed = v->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM;
	out->segment = kind == VIRTIO_NET_HDR_GSO_NONE ? 0 : v->gso_size;
}

/* A frame that does not fit into a slot is in the socket's queue (PACKET_COPY_THRESH). */
static void read_big(struct psock *s, struct psock_frame *out)
{
	struct virtio_net_hdr v;
	ssize_t n;

	if (!s->big)
		s->big = malloc(BIG_BYTES);
	if (!s->big)
		return;
	n = recv(s->fd, s->big, BIG_BYTES, MSG_DONTWAIT);
	if (n <= (ssize_t)sizeof(v))
		return;
	memcpy(&v, s->big, sizeof(v));
	read_offloads(&v, out);
	out->data = s->big + sizeof(v);
	out->len = (uint32_t)n - sizeof(v);
}

bool psock_peek(struct psock *s, struct psock_frame *out)
{
	const struct tpacket2_hdr *h = slot(&s->rx, s->rx.next);
	uint32_t status = status_of(&s->rx, s->rx.next);
	struct virtio_net_hdr v;

	if (!(status & TP_STATUS_USER))
		return false;
	*out = (struct psock_frame){ .has_tag = status & TP_STATUS_VLAN_VALID,
				     .tpid = status & TP_STATUS_VLAN_TPID_VALID ? h->tp_vlan_tpid
										: ETHERTYPE_VLAN,
				     .tci = h->tp_vlan_tci };
	if (status & TP_STATUS_COPY) {
		read_big(s, out);
	} else if (h->tp_snaplen == h->tp_len) {
		out->data = (const uint8_t *)h + h->tp_mac;
		out->len = h->tp_snaplen;
		memcpy(&v, out->data - sizeof(v), sizeof(v));
		read_offloads(&v, out);
	}
	return true;
}

void psock_release(struct psock *s)
{
	/* [PS1] reads of the frame before its slot is free */
	__atomic_store_n(&slot(&s->rx, s->rx.next)->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
	__atomic_store_n(&s->rx.next, after(&s->rx, s->rx.next), __ATOMIC_RELAXED);
}

/* ---- writing ---- */

#define TX_DATA (TPACKET2_HDRLEN - sizeof(struct sockaddr_ll))

bool psock_has_room(struct psock *s)
{
	uint32_t status = status_of(&s->tx, s->tx.next);

	return !(status & (TP_STATUS_SEND_REQUEST | TP_STATUS_SENDING));
}

bool psock_put(struct psock *s, const void *data, uint32_t len)
{
	struct tpacket2_hdr *h = slot(&s->tx, s->tx.next);
	uint8_t *at = (uint8_t *)h + TX_DATA;

	if (unlikely(!psock_has_room(s))) {
		psock_kick(s);
		if (!psock_has_room(s))
			return false;
	}
	if (unlikely(len > s->tx.frame_size - SLOT_HEADROOM))
		return true; /* lost */
	memset(at, 0, sizeof(struct virtio_net_hdr));
	memcpy(at + sizeof(struct virtio_net_hdr), data, len);
	h->tp_len = len + sizeof(struct virtio_net_hdr);
	/* [PS1] */
	__atomic_store_n(&h->tp_status, TP_STATUS_SEND_REQUEST, __ATOMIC_RELEASE);
	s->tx.next = after(&s->tx, s->tx.next);
	s->waiting++;
	return true;
}

bool psock_kick(struct psock *s)
{
	if (!s->waiting)
		return true;
	/* The kernel skips frames that it cannot send (PACKET_LOSS), and keeps all when it lacks
	 * memory. */
	send(s->fd, NULL, 0, MSG_DONTWAIT);
	for (; s->waiting && !(status_of(&s->tx, s->unsent) & TP_STATUS_SEND_REQUEST); s->waiting--)
		s->unsent = after(&s->tx, s->unsent);
	return !s->waiting;
}

/* ---- opening ---- */

static int set_option(int fd, int option, int value)
{
	return setsockopt(fd, SOL_PACKET, option, &value, sizeof(value)) ? -errno : 0;
}

static int set_ring(struct psock *s, int option, uint32_t blocks, uint32_t frame_size,
		    struct psock_ring *r)
{
	struct tpacket_req req = { .tp_block_size = BLOCK,
				   .tp_block_nr = blocks,
				   .tp_frame_size = frame_size };

	r->frame_size = frame_size;
	r->per_block = BLOCK / frame_size;
	r->count = req.tp_frame_nr = r->per_block * blocks;
	return setsockopt(s->fd, SOL_PACKET, option, &req, sizeof(req)) ? -errno : 0;
}

static int get_mtu(int fd, const char *interface, uint32_t *out)
{
	struct ifreq req = { 0 };

	strncpy(req.ifr_name, interface, sizeof(req.ifr_name) - 1);
	if (ioctl(fd, SIOCGIFMTU, &req))
		return -errno;
	*out = (uint32_t)req.ifr_mtu;
	return 0;
}

/* The bytes of a slot: for a frame of the MTU with two VLAN tags. */
static uint32_t slot_size(uint32_t mtu)
{
	return TPACKET_ALIGN((mtu < MTU_MAX ? mtu : MTU_MAX) + ETHER_HDR_LEN + 8 + SLOT_HEADROOM);
}

static int map_rings(struct psock *s, const char *interface)
{
	uint32_t mtu = 0, size;
	int err = get_mtu(s->fd, interface, &mtu);

	if (err)
		return err;
	size = slot_size(mtu);
	err = set_option(s->fd, PACKET_VERSION, TPACKET_V2);
	if (!err)
		err = set_option(s->fd, PACKET_VNET_HDR, 1);
	if (!err)
		err = set_option(s->fd, PACKET_COPY_THRESH, 1);
	if (!err)
		err = set_option(s->fd, PACKET_LOSS, 1);
	if (!err)
		err = set_ring(s, PACKET_RX_RING, RX_BLOCKS, size, &s->rx);
	if (!err)
		err = set_ring(s, PACKET_TX_RING, TX_BLOCKS, size, &s->tx);
	if (err)
		return err;
	set_option(s->fd, PACKET_IGNORE_OUTGOING, 1);
	s->rx.at = mmap(NULL, (size_t)BLOCK * (RX_BLOCKS + TX_BLOCKS), PROT_READ | PROT_WRITE,
			MAP_SHARED, s->fd, 0);
	if (s->rx.at == MAP_FAILED)
		return -errno;
	s->tx.at = s->rx.at + (size_t)BLOCK * RX_BLOCKS;
	return 0;
}

int psock_open(struct psock *s, const char *interface)
{
	struct sockaddr_ll addr = { .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL) };
	struct packet_mreq all = { .mr_type = PACKET_MR_PROMISC };
	int err;

	*s = (struct psock){ .fd = -1 };
	addr.sll_ifindex = all.mr_ifindex = (int)if_nametoindex(interface);
	if (!addr.sll_ifindex)
		return -errno;
	/* Protocol 0: no frames of other interfaces before bind(). */
	s->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->fd < 0)
		return -errno;
	err = map_rings(s, interface);
	if (!err && bind(s->fd, (struct sockaddr *)&addr, sizeof(addr)))
		err = -errno;
	if (!err && setsockopt(s->fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof(all)))
		err = -errno;
	if (err)
		psock_close(s);
	return err;
}

/* Also in a forked child: its mapping would keep the socket and its rings alive. */
void psock_close(struct psock *s)
{
	if (s->rx.at && s->rx.at != MAP_FAILED)
		munmap(s->rx.at, (size_t)BLOCK * (RX_BLOCKS + TX_BLOCKS));
	close(s->fd);
	free(s->big);
}
