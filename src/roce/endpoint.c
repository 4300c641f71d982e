/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/endpoint.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "roce/clock.h"
#include "roce/endpoint_types.h"
#include "roce/group.h"
#include "roce/inspect.h"
#include "roce/port_owner.h"
#include "roce/socket.h"
#include "roce/tx_socket.h"
#include "util/explain.h"

static const struct roce_inspect no_inspect;
static const struct roce_endpoint_opts defaults;

static int explain_open(const struct roce_endpoint *ep, int err)
{
	char text[ROCE_ADDR_TEXT], owner[256];

	roce_addr_format(&ep->local, text);
	switch (err) {
	case -EADDRINUSE:
		roce_port_owner(&ep->local, ep->port, owner, sizeof(owner));
		return explain(
			EADDRINUSE,
			"UDP port %u at %s is taken by %s; RoCEv2 needs it, to be shared only "
			"by Verbena's processes of one user",
			ep->port, text, owner);
	case -EADDRNOTAVAIL:
		return explain(EADDRNOTAVAIL, "%s is no address of this host (any more)", text);
	default:
		return explain(-err, "no UDP socket at %s port %u: %s", text, ep->port,
			       strerror(-err));
	}
}

static int open_main(struct roce_endpoint *ep)
{
	int fd = roce_socket_open(ep, ROCE_SOCKET_MAIN, &ep->local, ep->port);

	if (fd < 0)
		return explain_open(ep, fd);
	ep->fd = fd;
	roce_tx_socket_add(ep, fd, ep->port, 0);
	ep->sndbuf = roce_socket_buffer(fd, SO_SNDBUF);
	ep->rcvbuf = roce_socket_buffer(fd, SO_RCVBUF);
	return 0;
}

static uint64_t random_cookie(void)
{
	uint64_t cookie;

	if (getrandom(&cookie, sizeof(cookie), GRND_NONBLOCK) != sizeof(cookie))
		cookie = roce_now_ns() ^ (uint64_t)getpid() << 32;
	return cookie;
}

int roce_endpoint_open(const struct roce_addr *local, const struct roce_endpoint_opts *opts,
		       struct roce_endpoint **out)
{
	struct roce_endpoint *ep;
	int err;

	if (!opts)
		opts = &defaults;
	if (roce_addr_is_multicast(local))
		return explain(EINVAL, "an endpoint has a host's address; groups are joined");
	ep = calloc(1, sizeof(*ep));
	if (!ep)
		return -ENOMEM;
	ep->local = *local;
	ep->ipv4 = roce_addr_is_ipv4(local);
	ep->port = opts->port ? opts->port : ROCE_UDP_PORT;
	ep->gro = !opts->no_gro;
	ep->exclusive = opts->exclusive;
	ep->sndbuf_wish = opts->sndbuf;
	ep->rcvbuf_wish = opts->rcvbuf;
	ep->inspect = opts->inspect ? opts->inspect : &no_inspect;
	atomic_init(&ep->index, -1);
	atomic_init(&ep->cookie, random_cookie());
	pthread_mutex_init(&ep->group_lock, NULL);
	pthread_mutex_init(&ep->tx_socket_lock, NULL);
	/* Without an interface, bind() decides whether the address is local. */
	roce_addr_interface(local, &ep->local.ifindex);
	ep->group_fd = epoll_create1(EPOLL_CLOEXEC);
	if (ep->group_fd < 0) {
		err = -errno;
		goto free_ep;
	}
	err = open_main(ep);
	if (err)
		goto close_group_fd;
	atomic_init(&ep->segment, !opts->no_segment && roce_socket_can_segment(ep->fd));
	*out = ep;
	return 0;
close_group_fd:
	close(ep->group_fd);
free_ep:
	pthread_mutex_destroy(&ep->tx_socket_lock);
	pthread_mutex_destroy(&ep->group_lock);
	free(ep);
	return err;
}

void roce_endpoint_close(struct roce_endpoint *ep)
{
	if (!ep)
		return;
	roce_group_leave_all(ep);
	for (unsigned int i = 0; i < atomic_load(&ep->tx_sockets); i++)
		close(ep->tx_socket[i].fd);
	close(ep->group_fd);
	pthread_mutex_destroy(&ep->tx_socket_lock);
	pthread_mutex_destroy(&ep->group_lock);
	free(ep);
}

int roce_endpoint_fd(const struct roce_endpoint *ep)
{
	return ep->fd;
}

int roce_endpoint_group_fd(const struct roce_endpoint *ep)
{
	return ep->group_fd;
}

bool roce_endpoint_has_packets(const struct roce_endpoint *ep)
{
	struct pollfd fd = { .fd = ep->fd, .events = POLLIN };

	return poll(&fd, 1, 0) > 0;
}

bool roce_endpoint_is_half_full(const struct roce_endpoint *ep)
{
	return roce_socket_is_half_full(ep->fd);
}

const struct roce_addr *roce_endpoint_addr(const struct roce_endpoint *ep)
{
	return &ep->local;
}

void roce_endpoint_update_interface(struct roce_endpoint *ep)
{
	uint32_t ifindex;

	if (roce_addr_interface(&ep->local, &ifindex))
		return;
	pthread_mutex_lock(&ep->tx_socket_lock);
	for (unsigned int i = 0; i < atomic_load(&ep->tx_sockets); i++)
		roce_socket_set_interface(ep->tx_socket[i].fd, ep, ifindex);
	pthread_mutex_unlock(&ep->tx_socket_lock);
}

uint32_t roce_endpoint_mtu(const struct roce_endpoint *ep)
{
	uint32_t mtu;

	if (roce_interface_mtu(ep->local.ifindex, &mtu))
		return 256;
	mtu = roce_mtu_from_ip(mtu);
	return mtu ? mtu : 256;
}

void roce_endpoint_limits(const struct roce_endpoint *ep, struct roce_endpoint_limits *out)
{
	*out = (struct roce_endpoint_limits){
		.sndbuf = ep->sndbuf,
		.rcvbuf = ep->rcvbuf,
		.segment = atomic_load_explicit(&ep->segment, memory_order_relaxed),
		.gro = ep->gro,
	};
}

void roce_endpoint_enable_ttl(struct roce_endpoint *ep)
{
	if (!atomic_load_explicit(&ep->rx_ttl, memory_order_relaxed) &&
	    !roce_socket_enable_ttl(ep->fd, ep->ipv4))
		atomic_store_explicit(&ep->rx_ttl, true, memory_order_relaxed);
}

void roce_endpoint_counters(const struct roce_endpoint *ep, struct roce_counters *out)
{
	*out = (struct roce_counters){
		.tx_packets = ep->count.tx[0].packets + ep->count.tx[1].packets,
		.tx_bytes = ep->count.tx[0].bytes + ep->count.tx[1].bytes,
		.tx_calls = ep->count.tx[0].calls + ep->count.tx[1].calls,
		.tx_full = ep->count.tx_full,
		.tx_lost = ep->count.tx_lost,
		.rx_packets = ep->count.rx[0].packets + ep->count.rx[1].packets,
		.rx_bytes = ep->count.rx[0].bytes + ep->count.rx[1].bytes,
		.rx_calls = ep->count.rx[0].calls + ep->count.rx[1].calls,
		.rx_full = roce_socket_drops(ep->fd) + roce_group_drops(ep),
	};
	for (unsigned int i = 0; i < ROCE_DROP_COUNT; i++)
		out->rx_drop[i] = ep->count.rx_drop[i];
}
