/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "roce/udp_priv.h"

enum {
	/* Looks of which one is at the own socket; so many that find nothing there make it fewer. */
	EVERY_LEAST = 2,
	EVERY_MOST = 16,
	QUIET_MOST = 32,
	OTHERS_MOST = 64, /* datagrams there that turn the ear away */
	/* Datagrams of one flow in a row that turn it to the peer. */
	ENOUGH_LEAST = 64,
	ENOUGH_MOST = 1 << 20,
	PORT_NOBODY = 9, /* "discard", and at our own address */
	DATAGRAM = 512,  /* what the kernel accounts for one at least, and for what is in it */
};

static int turn(int fd, const union roce_sockaddr *to)
{
	return connect(fd, &to->any, sizeof(to->v4)) ? -errno : 0;
}

/* To where nobody speaks. */
static int turn_away(const struct roce_endpoint *ep, int fd)
{
	union roce_sockaddr nobody;

	roce_addr_to_sockaddr(&ep->local, PORT_NOBODY, &nobody);
	return turn(fd, &nobody);
}

static bool is_at_home(const struct roce_endpoint *ep, int fd)
{
	union roce_sockaddr at;
	struct roce_addr addr;
	socklen_t len = sizeof(at);
	uint16_t port;

	return !getsockname(fd, &at.any, &len) && roce_addr_from_sockaddr(&at, &addr, &port) &&
	       !memcmp(addr.gid, ep->local.gid, sizeof(addr.gid));
}

/*
 * Whoever speaks to oneself does so from the address that is spoken to; except some of 127.0.0.0/8, and an
 * interface's second address of one network. With the port, the ear would be in the way of others there.
 */
static bool finds_home(const struct roce_endpoint *ep)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool finds;

	if (fd < 0)
		return false;
	finds = !turn_away(ep, fd) && is_at_home(ep, fd);
	close(fd);
	return finds;
}

/*
 * How the kernel finds sockets matters in two ways. Whoever shares the port joins the group of the latest
 * socket at the same address, and a connected one is in no group, so this must not be the ear: it is bound
 * before the endpoint's own. But a packet is only taken for it at once if it is the first at its address:
 * it comes there when it is connected, because until then it has none. With IPv6 newcomers do not find the
 * group then, so there is no ear.
 */
void roce_ear_open(struct roce_endpoint *ep)
{
	static const struct roce_addr any = { .gid = { [10] = 0xff, 0xff } };
	struct roce_ear *ear = &ep->ear;

	ear->enough = ENOUGH_LEAST;
	ear->fd = -1;
	if (ep->ipv4 && !ep->opts.lonely && finds_home(ep))
		ear->fd = roce_socket_open(ep, ROCE_SOCKET_EAR, &any, ep->port);
}

void roce_ear_close(struct roce_endpoint *ep)
{
	if (ep->ear.fd >= 0)
		close(ep->ear.fd);
	ep->ear.fd = -1;
}

void roce_ear_settle(struct roce_endpoint *ep)
{
	struct roce_ear *ear = &ep->ear;

	if (ear->fd < 0)
		return;
	if (turn_away(ep, ear->fd) || !is_at_home(ep, ear->fd)) {
		roce_ear_close(ep);
		return;
	}
	/* What came while it had no address was for others, or for nobody. */
	while (recv(ear->fd, NULL, 0, MSG_DONTWAIT | MSG_TRUNC) >= 0)
		;
}

static void leave(struct roce_endpoint *ep)
{
	if (!turn_away(ep, ep->ear.fd))
		ep->ear.state = ROCE_EAR_LEAVING;
}

int roce_ear_choose(struct roce_endpoint *ep)
{
	struct roce_ear *ear = &ep->ear;
	int own = ep->source[0].fd;

	if (ear->state == ROCE_EAR_AWAY) {
		atomic_store_explicit(&ear->heard, false, memory_order_relaxed);
		ear->state = ROCE_EAR_LEAVING;
	} else if (ear->state == ROCE_EAR_ON) {
		ear->looks = 0;
		if (!atomic_load_explicit(&ear->alone, memory_order_relaxed))
			leave(ep);
	}
	return ear->state == ROCE_EAR_LEAVING ? ear->fd : own;
}

/* Who has more than one peer to hear is better off without. */
static void hear_others(struct roce_endpoint *ep, int n)
{
	struct roce_ear *ear = &ep->ear;

	if (n > 0) {
		ear->every = EVERY_LEAST;
		ear->quiet = 0;
		if (++ear->others >= OTHERS_MOST)
			leave(ep);
	} else if (++ear->quiet >= QUIET_MOST) {
		ear->quiet = 0;
		if (ear->every < EVERY_MOST)
			ear->every *= 2;
	}
}

/* Of what the endpoint's own socket held at the turn, so much was read at least. */
static bool is_read(struct roce_ear *ear, int n, uint32_t bytes)
{
	uint32_t least = (uint32_t)n * DATAGRAM;

	if (least < bytes)
		least = bytes;
	if (least >= ear->left)
		return true;
	ear->left -= least;
	return false;
}

void roce_ear_found(struct roce_endpoint *ep, int n, uint32_t bytes)
{
	struct roce_ear *ear = &ep->ear;

	switch (ear->state) {
	case ROCE_EAR_TURNING:
		if (n <= 0 || is_read(ear, n, bytes)) {
			ear->state = ROCE_EAR_ON;
			ear->every = EVERY_LEAST;
			ear->quiet = ear->others = 0;
		}
		break;
	case ROCE_EAR_ON:
		hear_others(ep, n);
		break;
	case ROCE_EAR_LEAVING:
		/* An error is not the end: packets lie behind it. */
		if (!n)
			ear->state = ROCE_EAR_AWAY;
		break;
	}
}

void roce_ear_steady(struct roce_endpoint *ep, int fd, const union roce_sockaddr *from)
{
	struct roce_ear *ear = &ep->ear;

	ear->steady = 0;
	if (fd == ear->fd) {
		ear->others = 0;
		if (ear->enough > ENOUGH_LEAST)
			ear->enough /= 2;
	}
	if (fd != ep->source[0].fd || ear->fd < 0 ||
	    !atomic_load_explicit(&ear->alone, memory_order_relaxed))
		return;
	if (ear->state != ROCE_EAR_AWAY)
		return;
	/* Where it is always another one that speaks, the ear would not be worth its turns. */
	if (ear->enough < ENOUGH_MOST)
		ear->enough *= 2;
	if (turn(ear->fd, from))
		return;
	ear->state = ROCE_EAR_TURNING;
	ear->left = roce_socket_held(fd);
}
