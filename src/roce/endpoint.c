/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An endpoint's sockets and their options: one that packets come to and leave from, here; others to leave
 * from are in source.c, those of groups in group.c.
 */
#include <errno.h>
#include <linux/sock_diag.h>
#include <linux/udp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <unistd.h>

#include "roce/udp_priv.h"
#include "util/api.h"
#include "util/explain.h"

/* What a socket holds of a burst is what need not be sent again. */
#define PLENTY (8u << 20)

static const struct roce_taps no_taps;
static const struct roce_endpoint_opts defaults;

static int set(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value)) ? -errno : 0;
}

/* As much as is allowed: with privilege what is wished, else up to the system's limit. */
static void set_buffer(int fd, int force, int plain, uint32_t wish)
{
	int bytes = wish ? (wish > INT32_MAX / 2 ? INT32_MAX / 2 : wish) : PLENTY;

	if (set(fd, SOL_SOCKET, force, bytes))
		set(fd, SOL_SOCKET, plain, bytes);
}

static void set_group_interface(int fd, const struct roce_endpoint *ep, uint32_t ifindex)
{
	struct ip_mreqn from = { .imr_ifindex = (int)ifindex };

	memcpy(&from.imr_address, ep->local.gid + 12, 4);
	if (ep->ipv4)
		setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &from, sizeof(from));
	else
		set(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, (int)ifindex);
}

/*
 * The ICRC covers the IPv4 id. PROBE forbids fragments, upon which the kernel gives id 0, and does
 * not let forged ICMP messages shrink packets.
 */
static int set_ipv4(int fd, const struct roce_endpoint *ep)
{
	int err = set(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE);

	if (err)
		return err;
	set(fd, IPPROTO_IP, IP_TTL, ROCE_TTL);
	set(fd, IPPROTO_IP, IP_MULTICAST_TTL, ROCE_TTL);
	set_group_interface(fd, ep, ep->local.ifindex);
	set(fd, IPPROTO_IP, IP_MULTICAST_ALL, 0);
	return 0;
}

static int set_ipv6(int fd, const struct roce_endpoint *ep)
{
	int err = set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);

	if (!err)
		err = set(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE);
	if (err)
		return err;
	set(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, ROCE_TTL);
	set(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, ROCE_TTL);
	set_group_interface(fd, ep, ep->local.ifindex);
	set(fd, IPPROTO_IPV6, IPV6_MULTICAST_ALL, 0);
	return 0;
}

static int set_hops(int fd, const struct roce_endpoint *ep)
{
	return ep->ipv4 ? set(fd, IPPROTO_IP, IP_RECVTTL, 1)
			: set(fd, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1);
}

/* Every control message costs. */
static int set_receive(int fd, const struct roce_endpoint *ep)
{
	int err;

	if (ep->ipv4)
		return set(fd, IPPROTO_IP, IP_RECVTOS, 1);
	err = set(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, 1);
	/* Adapters and rxe send a check sum of 0, which IPv6 otherwise forbids. */
	if (!err)
		err = set(fd, IPPROTO_UDP, UDP_NO_CHECK6_RX, 1);
	return err;
}

/* Datagrams, for which also where they came in counts. */
static int set_group_receive(int fd, const struct roce_endpoint *ep)
{
	int err = set_hops(fd, ep);

	if (err)
		return err;
	return ep->ipv4 ? set(fd, IPPROTO_IP, IP_PKTINFO, 1)
			: set(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);
}

void roce_endpoint_hear_hops(struct roce_endpoint *ep)
{
	if (atomic_load_explicit(&ep->hops, memory_order_relaxed) || set_hops(ep->source[0].fd, ep))
		return;
	atomic_store_explicit(&ep->hops, true, memory_order_relaxed);
}

int roce_socket_make(const struct roce_endpoint *ep, enum roce_socket_kind kind)
{
	int fd, err;

	fd = socket(ep->ipv4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	err = ep->ipv4 ? set_ipv4(fd, ep) : set_ipv6(fd, ep);
	if (!err && roce_socket_hears(kind))
		err = set_receive(fd, ep);
	if (!err && kind == ROCE_SOCKET_GROUP)
		err = set_group_receive(fd, ep);
	if (err) {
		close(fd);
		return err;
	}
	if (kind != ROCE_SOCKET_GROUP && (kind != ROCE_SOCKET_MAIN || !ep->opts.lonely))
		set(fd, SOL_SOCKET, SO_REUSEPORT, 1);
	if (kind == ROCE_SOCKET_GROUP)
		set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	if (roce_socket_hears(kind) && ep->gro)
		set(fd, IPPROTO_UDP, UDP_GRO, 1);
	set_buffer(fd, SO_SNDBUFFORCE, SO_SNDBUF, ep->opts.sndbuf);
	if (!roce_socket_hears(kind))
		set(fd, SOL_SOCKET, SO_RCVBUF, 1); /* nobody reads it */
	else
		set_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF, ep->opts.rcvbuf);
	return fd;
}

int roce_socket_open(const struct roce_endpoint *ep, enum roce_socket_kind kind,
		     const struct roce_addr *bind_to, uint16_t port)
{
	union roce_sockaddr sa;
	socklen_t sa_len = roce_addr_to_sockaddr(bind_to, port, &sa);
	int fd = roce_socket_make(ep, kind), err;

	if (fd >= 0 && bind(fd, &sa.any, sa_len)) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

static uint32_t buffer_bytes(int fd, int name)
{
	int value = 0;
	socklen_t len = sizeof(value);

	getsockopt(fd, SOL_SOCKET, name, &value, &len);
	return value;
}

static int refuse(const struct roce_endpoint *ep, int err)
{
	char text[ROCE_ADDR_TEXT], holder[256];

	roce_addr_format(&ep->local, text);
	switch (err) {
	case -EADDRINUSE:
		roce_port_holder(&ep->local, ep->port, holder, sizeof(holder));
		return explain(
			EADDRINUSE,
			"UDP port %u at %s is taken by %s; RoCEv2 needs it, to be shared only "
			"by Verbena's processes of one user",
			ep->port, text, holder);
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
		return refuse(ep, fd);
	roce_source_add(ep, (struct roce_source){ .fd = fd, .port = ep->port });
	ep->sndbuf = buffer_bytes(fd, SO_SNDBUF);
	ep->rcvbuf = buffer_bytes(fd, SO_RCVBUF);
	return 0;
}

static void close_sockets(struct roce_endpoint *ep)
{
	for (unsigned int i = 0; i < atomic_load(&ep->sources); i++)
		close(ep->source[i].fd);
}

/* Whether the kernel knows UDP_SEGMENT (4.18) is seen by asking for what it is set to. */
static bool can_segment(int fd)
{
	int value;
	socklen_t len = sizeof(value);

	return !getsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &value, &len);
}

int roce_endpoint_open(const struct roce_addr *local, const struct roce_endpoint_opts *opts,
		       struct roce_endpoint **out)
{
	struct roce_endpoint *ep;
	uint64_t cookie;
	int err;

	if (!opts)
		opts = &defaults;
	if (roce_addr_is_multicast(local))
		return explain(EINVAL, "an endpoint has a host's address; groups are joined");
	ep = calloc(1, sizeof(*ep));
	if (!ep)
		return -ENOMEM;
	ep->opts = *opts;
	ep->local = *local;
	ep->ipv4 = roce_addr_is_ipv4(local);
	ep->port = opts->port ? opts->port : ROCE_UDP_PORT;
	ep->gro = !opts->no_gro;
	ep->taps = opts->taps ? opts->taps : &no_taps;
	atomic_init(&ep->index, -1);
	pthread_mutex_init(&ep->group_lock, NULL);
	pthread_mutex_init(&ep->source_lock, NULL);
	if (getrandom(&cookie, sizeof(cookie), GRND_NONBLOCK) != sizeof(cookie))
		cookie = roce_now_ns() ^ (uint64_t)getpid() << 32;
	atomic_init(&ep->cookie, cookie);
	/* An address without interface is bound, or refused, by the kernel's own rules. */
	roce_addr_interface(local, &ep->local.ifindex);
	ep->group_fd = epoll_create1(EPOLL_CLOEXEC);
	if (ep->group_fd < 0) {
		err = -errno;
		goto free_ep;
	}
	err = open_main(ep);
	if (err)
		goto close_group;
	atomic_init(&ep->segment, !opts->no_segment && can_segment(ep->source[0].fd));
	*out = ep;
	return 0;
close_group:
	close(ep->group_fd);
free_ep:
	pthread_mutex_destroy(&ep->source_lock);
	pthread_mutex_destroy(&ep->group_lock);
	free(ep);
	return err;
}

void roce_endpoint_close(struct roce_endpoint *ep)
{
	if (!ep)
		return;
	roce_groups_leave_all(ep);
	close_sockets(ep);
	close(ep->group_fd);
	pthread_mutex_destroy(&ep->source_lock);
	pthread_mutex_destroy(&ep->group_lock);
	free(ep);
}

int roce_endpoint_fd(const struct roce_endpoint *ep)
{
	return ep->source[0].fd;
}

bool roce_endpoint_has_packets(const struct roce_endpoint *ep)
{
	struct pollfd fd = { .fd = ep->source[0].fd, .events = POLLIN };

	return poll(&fd, 1, 0) > 0;
}

int roce_endpoint_group_fd(const struct roce_endpoint *ep)
{
	return ep->group_fd;
}

void roce_endpoint_moved(struct roce_endpoint *ep)
{
	uint32_t ifindex;

	if (roce_addr_interface(&ep->local, &ifindex))
		return;
	pthread_mutex_lock(&ep->source_lock);
	for (unsigned int i = 0; i < atomic_load(&ep->sources); i++)
		set_group_interface(ep->source[i].fd, ep, ifindex);
	pthread_mutex_unlock(&ep->source_lock);
}

const struct roce_addr *roce_endpoint_addr(const struct roce_endpoint *ep)
{
	return &ep->local;
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

/* Zeroes where the kernel does not tell (before 4.12). */
static void memory_of(int fd, uint32_t info[SK_MEMINFO_VARS])
{
	socklen_t len = SK_MEMINFO_VARS * sizeof(*info);

	memset(info, 0, len);
	getsockopt(fd, SOL_SOCKET, SO_MEMINFO, info, &len);
}

uint32_t roce_socket_full(int fd)
{
	uint32_t info[SK_MEMINFO_VARS];

	memory_of(fd, info);
	return info[SK_MEMINFO_DROPS];
}

static bool is_half_full(int fd)
{
	uint32_t info[SK_MEMINFO_VARS];

	memory_of(fd, info);
	return info[SK_MEMINFO_RMEM_ALLOC] > info[SK_MEMINFO_RCVBUF] / 2;
}

bool roce_endpoint_is_pressed(const struct roce_endpoint *ep)
{
	return is_half_full(ep->source[0].fd);
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
		.rx_full = roce_socket_full(ep->source[0].fd) + roce_groups_full(ep),
	};
	for (unsigned int i = 0; i < ROCE_DROP_COUNT; i++)
		out->rx_drop[i] = ep->count.rx_drop[i];
}
