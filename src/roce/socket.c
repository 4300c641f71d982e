/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/socket.h"

#include <errno.h>
#include <linux/sock_diag.h>
#include <linux/udp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "roce/endpoint_types.h"

/* Packets that a full socket drops have to be sent again, so buffers hold a long burst. */
#define BUFFER_BYTES (8u << 20)

static int set(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value)) ? -errno : 0;
}

/* `force` needs privilege; `plain` is bounded by a system-wide limit. */
static void set_buffer(int fd, int force, int plain, uint32_t wish)
{
	int bytes = wish ? (wish > INT32_MAX / 2 ? INT32_MAX / 2 : wish) : BUFFER_BYTES;

	if (set(fd, SOL_SOCKET, force, bytes))
		set(fd, SOL_SOCKET, plain, bytes);
}

void roce_socket_set_interface(int fd, const struct roce_endpoint *ep, uint32_t ifindex)
{
	struct ip_mreqn from = { .imr_ifindex = (int)ifindex };

	memcpy(&from.imr_address, ep->local.gid + 12, 4);
	if (ep->ipv4)
		setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &from, sizeof(from));
	else
		set(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, (int)ifindex);
}

/*
 * Older kernels bind a socket to an interface for privileged processes only; there the interface is a
 * preference, which IPv6 follows among routes of equal metric.
 */
void roce_socket_set_link(int fd, const struct roce_endpoint *ep, uint32_t ifindex)
{
	if (!ifindex || !set(fd, SOL_SOCKET, SO_BINDTOIFINDEX, (int)ifindex))
		return;
	if (ep->ipv4)
		set(fd, IPPROTO_IP, IP_UNICAST_IF, (int)htonl(ifindex));
	else
		set(fd, IPPROTO_IPV6, IPV6_UNICAST_IF, (int)htonl(ifindex));
}

/*
 * IP_PMTUDISC_PROBE forbids fragments, so that the kernel sets the IPv4 id to 0 (the ICRC covers it), and
 * ignores path MTUs that ICMP messages, maybe forged, claim.
 */
static int set_ipv4(int fd, const struct roce_endpoint *ep)
{
	int err = set(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE);

	if (err)
		return err;
	set(fd, IPPROTO_IP, IP_TTL, ROCE_TTL);
	set(fd, IPPROTO_IP, IP_MULTICAST_TTL, ROCE_TTL);
	roce_socket_set_interface(fd, ep, ep->local.ifindex);
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
	roce_socket_set_interface(fd, ep, ep->local.ifindex);
	set(fd, IPPROTO_IPV6, IPV6_MULTICAST_ALL, 0);
	return 0;
}

int roce_socket_enable_ttl(int fd, bool ipv4)
{
	return ipv4 ? set(fd, IPPROTO_IP, IP_RECVTTL, 1)
		    : set(fd, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1);
}

/* Every packet pays for each control message: only the traffic class, for its ECN bits. */
static int set_receive(int fd, bool ipv4)
{
	int err;

	if (ipv4)
		return set(fd, IPPROTO_IP, IP_RECVTOS, 1);
	err = set(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, 1);
	/* Adapters and rxe send a UDP checksum of 0, which IPv6 allows tunnels only (RFC 6935). */
	if (!err)
		err = set(fd, IPPROTO_UDP, UDP_NO_CHECK6_RX, 1);
	return err;
}

/* Datagrams to groups also need the interface that they arrived on. */
static int set_group_receive(int fd, bool ipv4)
{
	int err = roce_socket_enable_ttl(fd, ipv4);

	if (err)
		return err;
	return ipv4 ? set(fd, IPPROTO_IP, IP_PKTINFO, 1)
		    : set(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);
}

static int set_options(int fd, const struct roce_endpoint *ep, enum roce_socket_kind kind)
{
	bool receives = kind != ROCE_SOCKET_TX;
	int err = ep->ipv4 ? set_ipv4(fd, ep) : set_ipv6(fd, ep);

	if (!err && receives)
		err = set_receive(fd, ep->ipv4);
	if (!err && kind == ROCE_SOCKET_GROUP)
		err = set_group_receive(fd, ep->ipv4);
	if (err)
		return err;
	if (kind == ROCE_SOCKET_GROUP)
		set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	else if (kind == ROCE_SOCKET_TX || !ep->exclusive)
		set(fd, SOL_SOCKET, SO_REUSEPORT, 1);
	if (receives && ep->gro)
		set(fd, IPPROTO_UDP, UDP_GRO, 1);
	set_buffer(fd, SO_SNDBUFFORCE, SO_SNDBUF, ep->sndbuf_wish);
	if (receives)
		set_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF, ep->rcvbuf_wish);
	else
		set(fd, SOL_SOCKET, SO_RCVBUF, 1); /* never read */
	return 0;
}

int roce_socket_open(const struct roce_endpoint *ep, enum roce_socket_kind kind,
		     const struct roce_addr *bind_to, uint16_t port)
{
	union roce_sockaddr sa;
	socklen_t sa_len = roce_addr_to_sockaddr(bind_to, port, &sa);
	int family = ep->ipv4 ? AF_INET : AF_INET6, fd, err;

	fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	err = set_options(fd, ep, kind);
	if (!err && bind(fd, &sa.any, sa_len))
		err = -errno;
	if (err) {
		close(fd);
		return err;
	}
	return fd;
}

/* Kernels without UDP_SEGMENT do not know the option. */
bool roce_socket_can_segment(int fd)
{
	int value;
	socklen_t len = sizeof(value);

	return !getsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &value, &len);
}

uint32_t roce_socket_buffer(int fd, int option)
{
	int value = 0;
	socklen_t len = sizeof(value);

	getsockopt(fd, SOL_SOCKET, option, &value, &len);
	return value;
}

/* Zeroes before Linux 4.12. */
static void get_memory(int fd, uint32_t info[SK_MEMINFO_VARS])
{
	socklen_t len = SK_MEMINFO_VARS * sizeof(*info);

	memset(info, 0, len);
	getsockopt(fd, SOL_SOCKET, SO_MEMINFO, info, &len);
}

uint32_t roce_socket_drops(int fd)
{
	uint32_t info[SK_MEMINFO_VARS];

	get_memory(fd, info);
	return info[SK_MEMINFO_DROPS];
}

bool roce_socket_is_half_full(int fd)
{
	uint32_t info[SK_MEMINFO_VARS];

	get_memory(fd, info);
	return info[SK_MEMINFO_RMEM_ALLOC] > info[SK_MEMINFO_RCVBUF] / 2;
}
