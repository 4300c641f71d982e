/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/addr.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

static void set_ipv4(struct roce_addr *a, const struct in_addr *in)
{
	memset(a->gid, 0, 10);
	a->gid[10] = a->gid[11] = 0xff;
	memcpy(a->gid + 12, in, 4);
}

static int parse_scope(const char *text, uint32_t *ifindex)
{
	char *end;
	unsigned long n = if_nametoindex(text);

	if (!n) {
		n = strtoul(text, &end, 10);
		if (!n || n > INT32_MAX || *end)
			return -EINVAL;
	}
	*ifindex = n;
	return 0;
}

int roce_addr_parse(const char *text, struct roce_addr *out)
{
	struct roce_addr a = { .ifindex = 0 };
	char host[INET6_ADDRSTRLEN];
	const char *scope = strchr(text, '%');
	size_t len = scope ? (size_t)(scope - text) : strlen(text);
	struct in_addr in;

	if (len >= sizeof(host))
		return -EINVAL;
	memcpy(host, text, len);
	host[len] = 0;
	if (scope && parse_scope(scope + 1, &a.ifindex))
		return -EINVAL;
	if (inet_pton(AF_INET, host, &in) == 1)
		set_ipv4(&a, &in);
	else if (inet_pton(AF_INET6, host, a.gid) != 1)
		return -EINVAL;
	*out = a;
	return 0;
}

const char *roce_addr_format(const struct roce_addr *a, char *text)
{
	size_t len;

	if (roce_addr_is_ipv4(a))
		inet_ntop(AF_INET, a->gid + 12, text, ROCE_ADDR_TEXT);
	else
		inet_ntop(AF_INET6, a->gid, text, ROCE_ADDR_TEXT);
	if (a->gid[0] == 0xfe && a->ifindex) {
		len = strlen(text);
		snprintf(text + len, ROCE_ADDR_TEXT - len, "%%%u", a->ifindex);
	}
	return text;
}

static bool needs_scope(const uint8_t *gid)
{
	return (gid[0] == 0xfe && (gid[1] & 0xc0) == 0x80) ||
	       (gid[0] == 0xff && (gid[1] & 0x0f) <= 2);
}

socklen_t roce_addr_to_sockaddr(const struct roce_addr *a, uint16_t port, union roce_sockaddr *out)
{
	memset(out, 0, sizeof(*out));
	if (roce_addr_is_ipv4(a)) {
		out->v4.sin_family = AF_INET;
		out->v4.sin_port = htons(port);
		memcpy(&out->v4.sin_addr, a->gid + 12, 4);
		return sizeof(out->v4);
	}
	out->v6.sin6_family = AF_INET6;
	out->v6.sin6_port = htons(port);
	memcpy(&out->v6.sin6_addr, a->gid, 16);
	if (needs_scope(a->gid))
		out->v6.sin6_scope_id = a->ifindex;
	return sizeof(out->v6);
}

bool roce_addr_from_sockaddr(const union roce_sockaddr *from, struct roce_addr *out, uint16_t *port)
{
	switch (from->any.sa_family) {
	case AF_INET:
		set_ipv4(out, &from->v4.sin_addr);
		out->ifindex = 0;
		*port = ntohs(from->v4.sin_port);
		return true;
	case AF_INET6:
		memcpy(out->gid, &from->v6.sin6_addr, 16);
		out->ifindex = from->v6.sin6_scope_id;
		*port = ntohs(from->v6.sin6_port);
		return true;
	default:
		return false;
	}
}

int roce_addr_interface(const struct roce_addr *a, uint32_t *ifindex)
{
	struct ifaddrs *list, *i;
	int err = -EADDRNOTAVAIL;

	/* All of 127/8 is local, but only 127.0.0.1 is listed. */
	if (roce_addr_is_ipv4(a) && a->gid[12] == 127 && if_nametoindex("lo")) {
		*ifindex = if_nametoindex("lo");
		return 0;
	}
	if (getifaddrs(&list))
		return -errno;
	for (i = list; i; i = i->ifa_next) {
		union roce_sockaddr ss = { .any.sa_family = AF_UNSPEC };
		struct roce_addr have;
		uint32_t index;
		uint16_t port;

		if (!i->ifa_addr)
			continue;
		if (i->ifa_addr->sa_family == AF_INET)
			memcpy(&ss, i->ifa_addr, sizeof(struct sockaddr_in));
		else if (i->ifa_addr->sa_family == AF_INET6)
			memcpy(&ss, i->ifa_addr, sizeof(struct sockaddr_in6));
		if (!roce_addr_from_sockaddr(&ss, &have, &port) || memcmp(have.gid, a->gid, 16))
			continue;
		index = if_nametoindex(i->ifa_name);
		/* One link-local address may be on several interfaces. */
		if (!index || (a->ifindex && needs_scope(a->gid) && a->ifindex != index))
			continue;
		*ifindex = index;
		err = 0;
		break;
	}
	freeifaddrs(list);
	return err;
}

int roce_interface_mtu(uint32_t ifindex, uint32_t *mtu)
{
	struct ifreq req = { .ifr_mtu = 0 };
	int fd, err = 0;

	if (!if_indextoname(ifindex, req.ifr_name))
		return -ENODEV;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (ioctl(fd, SIOCGIFMTU, &req))
		err = -errno;
	else
		*mtu = req.ifr_mtu;
	close(fd);
	return err;
}

uint32_t roce_mtu_from_ip(uint32_t mtu)
{
	/* IPv6, UDP, BTH, XRCETH, AtomicETH, ICRC: the kernel subtracts the same for every packet */
	const uint32_t headers = 40 + 8 + 12 + 4 + 28 + 4;
	uint32_t size;

	for (size = 4096; size >= 256; size /= 2)
		if (mtu >= size + headers)
			return size;
	return 0;
}
