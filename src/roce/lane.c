/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A lane: a socket to send from that leads to one host. It is connected, so that the kernel keeps the
 * way there and need not look for it with every send: a ninth of what it does for a short packet.
 *
 * But it also counts the IPv4 ids of a connected socket, from a random one on, and the ICRC covers them.
 * No call tells the count. A packet's time stamp does, which comes back with the packet as it left: so
 * two of them go to the socket's own address, where nobody listens, and what they had is known to be
 * followed by the same distance. Whoever has a reason to doubt the count has it looked up again; when it
 * cannot be, the connection is dissolved, upon which ids are 0 as with any other socket.
 */
#include <errno.h>
#include <linux/net_tstamp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/random.h>

#include "roce/udp_priv.h"

enum {
	IP = 20,
	UDP = 8,
	PAYLOAD = 1,
	TRIES = 8, /* a socket tells of earlier packets that came back before it sends another */
	PORTS_FROM = 0xc000, /* what RoCEv2 leaves for senders to choose from */
	PORTS = 0x4000,
};

static int send_to_self(const struct roce_endpoint *ep, const struct roce_source *lane)
{
	static const char payload[PAYLOAD];
	union roce_sockaddr self;
	socklen_t len = roce_addr_to_sockaddr(&ep->local, lane->port, &self);

	for (int i = 0; i < TRIES; i++)
		if (sendto(lane->fd, payload, sizeof(payload), MSG_DONTWAIT | MSG_NOSIGNAL,
			   &self.any, len) >= 0)
			return 0;
	return -errno;
}

/* What left, from the link's header on, of any length. */
static int read_id(const struct roce_endpoint *ep, const struct roce_source *lane, uint16_t *id)
{
	uint8_t packet[128], *ip;
	char control[256];
	struct iovec iov = { packet, sizeof(packet) };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	ssize_t n = recvmsg(lane->fd, &msg, MSG_ERRQUEUE | MSG_DONTWAIT);

	if (n < 0)
		return -ENOMSG; /* it is there when the send returns, or never */
	if (n < IP + UDP + PAYLOAD || msg.msg_flags & MSG_TRUNC)
		return -EPROTO;
	ip = packet + n - (IP + UDP + PAYLOAD);
	if (ip[0] != 0x45 || ip[9] != IPPROTO_UDP || memcmp(ip + 12, ep->local.gid + 12, 4) ||
	    (ip[IP] << 8 | ip[IP + 1]) != lane->port)
		return -EPROTO;
	*id = ip[4] << 8 | ip[5];
	return 0;
}

static int see_id(const struct roce_endpoint *ep, const struct roce_source *lane, uint16_t *id)
{
	int err = send_to_self(ep, lane);

	return err ? err : read_id(ep, lane, id);
}

static int look_up(const struct roce_endpoint *ep, struct roce_source *lane)
{
	int on = SOF_TIMESTAMPING_TX_SCHED, off = 0, err;
	uint16_t first, second;

	if (!ep->ipv4)
		return 0; /* has no ids */
	if (setsockopt(lane->fd, SOL_SOCKET, SO_TIMESTAMPING, &on, sizeof(on)))
		return -errno;
	err = see_id(ep, lane, &first);
	if (!err)
		err = see_id(ep, lane, &second);
	setsockopt(lane->fd, SOL_SOCKET, SO_TIMESTAMPING, &off, sizeof(off));
	if (err)
		return err;
	lane->step = second - first;
	lane->id = second + lane->step;
	return lane->step > 1 ? -EPROTO : 0;
}

int roce_lane_connect(const struct roce_endpoint *ep, struct roce_source *lane)
{
	socklen_t len = ep->ipv4 ? sizeof(lane->to.v4) : sizeof(lane->to.v6);

	if (connect(lane->fd, &lane->to.any, len))
		return -errno;
	if (look_up(ep, lane))
		return -EOPNOTSUPP;
	lane->connected = true;
	lane->ahead = lane->id;
	return 0;
}

/* An administrator may take it away. */
static bool is_connected(const struct roce_source *lane)
{
	union roce_sockaddr peer;
	socklen_t len = sizeof(peer);

	return !getpeername(lane->fd, &peer.any, &len);
}

void roce_lane_dissolve(struct roce_source *lane)
{
	const struct sockaddr nobody = { .sa_family = AF_UNSPEC };
	int heard;
	socklen_t len = sizeof(heard);

	connect(lane->fd, &nobody, sizeof(nobody));
	/* What came back so far is not the next packet's. */
	getsockopt(lane->fd, SOL_SOCKET, SO_ERROR, &heard, &len);
	lane->connected = false;
	lane->id = lane->step = lane->ahead = 0;
}

int roce_lane_check(const struct roce_endpoint *ep, struct roce_source *lane)
{
	int err;

	atomic_store_explicit(&lane->doubted, false, memory_order_relaxed);
	if (!lane->connected)
		return 0;
	err = is_connected(lane) ? look_up(ep, lane) : -ENOTCONN;
	if (!err)
		return 0;
	if (err == -EAGAIN) {
		atomic_store_explicit(&lane->doubted, true, memory_order_relaxed);
		return err;
	}
	roce_lane_dissolve(lane);
	return 0;
}

/* Bound to a port by name: it keeps that when it is connected no more. */
int roce_lane_open(const struct roce_endpoint *ep, uint16_t *port)
{
	int fd = -EADDRINUSE;

	for (int i = 0; i < TRIES && fd == -EADDRINUSE; i++) {
		uint16_t any = (uint16_t)roce_now_ns();

		(void)!getrandom(&any, sizeof(any), GRND_NONBLOCK);
		*port = PORTS_FROM + any % PORTS;
		if (*port != ep->port)
			fd = roce_socket_open(ep, ROCE_SOCKET_SOURCE, &ep->local, *port);
	}
	return fd;
}
