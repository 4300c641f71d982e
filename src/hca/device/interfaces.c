/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Interfaces and addresses, from getifaddrs() and the socket ioctls: both need no privilege, and
 * both show the caller's network namespace even where /sys shows another one's.
 */
#include "hca/device/interfaces.h"

#include <errno.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/if_vlan.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netpacket/packet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/explain.h"

/* IFF_LOWER_UP of linux/if.h, which does not go with net/if.h. An interface that just came up has
 * it at once, and IFF_RUNNING up to a second later. */
#define CARRIER 0x10000

static void fill_mtu(int sock, struct host_interface *i)
{
	struct ifreq req = { 0 };

	snprintf(req.ifr_name, sizeof(req.ifr_name), "%s", i->name);
	i->mtu = ioctl(sock, SIOCGIFMTU, &req) ? 1500 : (uint32_t)req.ifr_mtu;
}

static void fill_lower(int sock, struct host_interface *i)
{
	struct vlan_ioctl_args args = { .cmd = GET_VLAN_REALDEV_NAME_CMD };

	snprintf(args.device1, sizeof(args.device1), "%s", i->name);
	if (!ioctl(sock, SIOCGIFVLAN, &args))
		snprintf(i->lower, sizeof(i->lower), "%.15s", args.u.device2);
}

/* A tap has no carrier before its other end is open, which raw/netif.c does when needed. */
static bool is_tap(int sock, const char *name)
{
	struct ethtool_drvinfo info = { .cmd = ETHTOOL_GDRVINFO };
	struct ifreq req = { .ifr_data = (void *)&info };

	snprintf(req.ifr_name, sizeof(req.ifr_name), "%s", name);
	return !ioctl(sock, SIOCETHTOOL, &req) && !strcmp(info.driver, "tun") &&
	       !strcmp(info.bus_info, "tap");
}

static void add_interface(struct host_picture *p, int sock, const struct ifaddrs *ifa)
{
	const struct sockaddr_ll *ll = (const struct sockaddr_ll *)ifa->ifa_addr;
	struct host_interface *i = &p->interfaces[p->interface_count++];

	memset(i, 0, sizeof(*i));
	snprintf(i->name, sizeof(i->name), "%s", ifa->ifa_name);
	i->index = ll->sll_ifindex;
	i->loopback = ifa->ifa_flags & IFF_LOOPBACK;
	i->up = ifa->ifa_flags & IFF_UP &&
		(ifa->ifa_flags & (IFF_RUNNING | CARRIER) || is_tap(sock, i->name));
	if (ll->sll_halen == sizeof(i->mac))
		memcpy(i->mac, ll->sll_addr, sizeof(i->mac));
	fill_mtu(sock, i);
	fill_lower(sock, i);
}

static void add_address(struct host_picture *p, const struct ifaddrs *ifa)
{
	struct host_address *a = &p->addresses[p->address_count];
	char base[IF_NAMESIZE];

	memset(a, 0, sizeof(*a));
	/* An alias such as eth0:1 belongs to eth0. */
	snprintf(base, sizeof(base), "%.*s", (int)strcspn(ifa->ifa_name, ":"), ifa->ifa_name);
	for (int i = 0; i < p->interface_count; i++)
		if (!strcmp(p->interfaces[i].name, base))
			a->index = p->interfaces[i].index;
	if (!a->index)
		return;
	if (ifa->ifa_addr->sa_family == AF_INET) {
		const struct sockaddr_in *in = (const struct sockaddr_in *)ifa->ifa_addr;

		a->gid.raw[10] = a->gid.raw[11] = 0xff;
		memcpy(a->gid.raw + 12, &in->sin_addr, 4);
	} else {
		const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)ifa->ifa_addr;

		memcpy(a->gid.raw, &in6->sin6_addr, 16);
	}
	p->address_count++;
}

static void add_family(struct host_picture *p, const struct ifaddrs *list, int family, int sock)
{
	for (const struct ifaddrs *ifa = list; ifa; ifa = ifa->ifa_next) {
		if (!ifa->ifa_addr || ifa->ifa_addr->sa_family != family)
			continue;
		if (family == AF_PACKET)
			add_interface(p, sock, ifa);
		else
			add_address(p, ifa);
	}
}

int host_picture_take(struct host_picture *p)
{
	struct ifaddrs *list;
	int n = 0, sock, err = -ENOMEM;

	memset(p, 0, sizeof(*p));
	sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (sock < 0)
		return -errno;
	if (getifaddrs(&list)) {
		err = explain(errno,
			      "the interfaces of this host cannot be listed (%s), so that ports "
			      "are down and "
			      "have no address: sockets of AF_NETLINK must be allowed",
			      strerror(errno));
		goto close_sock;
	}
	for (struct ifaddrs *ifa = list; ifa; ifa = ifa->ifa_next)
		n++;
	p->interfaces = calloc(n + 1, sizeof(*p->interfaces));
	p->addresses = calloc(n + 1, sizeof(*p->addresses));
	if (!p->interfaces || !p->addresses) {
		host_picture_free(p);
		goto free_list;
	}
	add_family(p, list, AF_PACKET, sock);
	add_family(p, list, AF_INET, sock);
	add_family(p, list, AF_INET6, sock);
	err = 0;
free_list:
	freeifaddrs(list);
close_sock:
	close(sock);
	return err;
}

void host_picture_free(struct host_picture *p)
{
	free(p->interfaces);
	free(p->addresses);
	memset(p, 0, sizeof(*p));
}

const struct host_interface *host_interface_find(const struct host_picture *p, uint32_t index)
{
	for (int i = 0; i < p->interface_count; i++)
		if (p->interfaces[i].index == index)
			return &p->interfaces[i];
	return NULL;
}

int host_watch_open(void)
{
	struct sockaddr_nl nl = {
		.nl_family = AF_NETLINK,
		.nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR,
	};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);

	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&nl, sizeof(nl))) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}

bool host_watch_drain(int fd)
{
	char buf[8192];
	bool changed = false;

	for (;;) {
		ssize_t n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);

		/* ENOBUFS: reports were lost, so something has changed. */
		if (n > 0 || (n < 0 && errno == ENOBUFS))
			changed = true;
		else if (n == 0 || errno != EINTR)
			return changed;
	}
}
