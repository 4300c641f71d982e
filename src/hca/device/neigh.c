/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Neighbours in the kernel's tables, by rtnetlink, which needs no privilege. Each call opens its own
 * socket; no state, no lock.
 */
#include "hca/device/neigh.h"

#include <errno.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define DISCARD_PORT 9
#define KNOWN        (NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE | NUD_PERMANENT | NUD_NOARP)

/* An IP address: the last 4 or all 16 bytes of a GID. */
struct ip_addr {
	int family;
	uint32_t len;
	uint8_t bytes[16];
};

static struct ip_addr addr_of(const uint8_t gid[16])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	bool four = !memcmp(gid, mapped, sizeof(mapped));
	struct ip_addr p = { .family = four ? AF_INET : AF_INET6, .len = four ? 4 : 16 };

	memcpy(p.bytes, gid + 16 - p.len, p.len);
	return p;
}

/* ---- messages ---- */

struct request {
	struct nlmsghdr head;
	union {
		struct rtmsg route;
		struct ndmsg neighbour;
	};
	uint8_t attributes[80];
};

static void add_attribute(struct request *r, uint16_t type, const void *data, uint32_t len)
{
	struct rtattr *a = (void *)((uint8_t *)r + NLMSG_ALIGN(r->head.nlmsg_len));

	a->rta_type = type;
	a->rta_len = RTA_LENGTH(len);
	memcpy(RTA_DATA(a), data, len);
	r->head.nlmsg_len = NLMSG_ALIGN(r->head.nlmsg_len) + RTA_ALIGN(a->rta_len);
}

static bool has_payload(const struct nlmsghdr *m, size_t len)
{
	return m->nlmsg_len >= NLMSG_LENGTH(len);
}

static const void *find_attribute(const struct rtattr *a, int left, uint16_t type, uint32_t len)
{
	for (; RTA_OK(a, left); a = RTA_NEXT(a, left))
		if (a->rta_type == type && RTA_PAYLOAD(a) >= len)
			return RTA_DATA(a);
	return NULL;
}

static int error_of(const struct nlmsghdr *m)
{
	return ((const struct nlmsgerr *)NLMSG_DATA(m))->error;
}

/*
 * Sends, and hands every answer to `see` until that, the kernel or an error says enough. -ENOENT: none
 * was the right one.
 */
static int ask(struct request *r, bool (*see)(const struct nlmsghdr *m, void *arg), void *arg)
{
	int sock = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	bool done = false;
	int err = -ENOENT;

	if (sock < 0)
		return -errno;
	if (send(sock, r, r->head.nlmsg_len, 0) < 0) {
		err = -errno;
		done = true;
	}
	while (!done) {
		_Alignas(struct nlmsghdr) uint8_t buf[16384];
		ssize_t len = recv(sock, buf, sizeof(buf), 0);
		const struct nlmsghdr *m = (const void *)buf;

		if (len < 0 && errno == EINTR)
			continue;
		if (len <= 0)
			break;
		for (; NLMSG_OK(m, len) && !done; m = NLMSG_NEXT(m, len)) {
			if (m->nlmsg_type == NLMSG_DONE) {
				done = true;
			} else if (m->nlmsg_type == NLMSG_ERROR) {
				if (has_payload(m, sizeof(struct nlmsgerr)))
					err = error_of(m) ?: -ENOENT;
				done = true;
			} else if (see(m, arg)) {
				done = true;
				err = 0;
			} else if (!(m->nlmsg_flags & NLM_F_MULTI)) {
				done = true;
			}
		}
	}
	close(sock);
	return err;
}

/* ---- the next hop ---- */

struct route_search {
	int family;
	struct hca_next_hop *hop;
};

static bool see_route(const struct nlmsghdr *m, void *arg)
{
	const struct rtmsg *route = NLMSG_DATA(m);
	const struct route_search *s = arg;
	uint32_t len = s->family == AF_INET ? 4 : 16;
	const void *gateway, *oif;

	if (m->nlmsg_type != RTM_NEWROUTE || !has_payload(m, sizeof(*route)))
		return false;
	gateway = find_attribute(RTM_RTA(route), (int)RTM_PAYLOAD(m), RTA_GATEWAY, len);
	if (gateway)
		memcpy(s->hop->addr + 16 - len, gateway, len);
	oif = find_attribute(RTM_RTA(route), (int)RTM_PAYLOAD(m), RTA_OIF, 4);
	if (oif)
		memcpy(&s->hop->ifindex, oif, 4);
	s->hop->is_known = route->rtm_type != RTN_UNICAST;
	return true;
}

int hca_neigh_route(uint32_t ifindex, const uint8_t from[16], const uint8_t to[16],
		    struct hca_next_hop *out)
{
	struct ip_addr target = addr_of(to), source = { 0 };
	struct request r = {
		.head = { .nlmsg_len = NLMSG_LENGTH(sizeof(struct rtmsg)),
			  .nlmsg_type = RTM_GETROUTE,
			  .nlmsg_flags = NLM_F_REQUEST },
		.route = { .rtm_family = (unsigned char)target.family,
			   .rtm_dst_len = (unsigned char)(8 * target.len) },
	};
	struct hca_next_hop hop = { .ifindex = ifindex };
	struct route_search s = { target.family, &hop };
	int err;

	memcpy(hop.addr, to, sizeof(hop.addr));
	add_attribute(&r, RTA_DST, target.bytes, target.len);
	if (ifindex)
		add_attribute(&r, RTA_OIF, &ifindex, sizeof(ifindex));
	if (from)
		source = addr_of(from);
	if (from && source.family == target.family) {
		r.route.rtm_src_len = (unsigned char)(8 * source.len);
		add_attribute(&r, RTA_SRC, source.bytes, source.len);
	}
	err = ask(&r, see_route, &s);
	if (err)
		return err;
	*out = hop;
	return 0;
}

/* ---- its MAC ---- */

struct search {
	struct ip_addr hop;
	int ifindex;
	uint8_t *mac;
};

static bool see_neighbour(const struct nlmsghdr *m, void *arg)
{
	const struct ndmsg *n = NLMSG_DATA(m);
	const struct search *s = arg;
	const struct rtattr *first = (const void *)((const uint8_t *)n + NLMSG_ALIGN(sizeof(*n)));
	int left = (int)NLMSG_PAYLOAD(m, sizeof(*n));
	const void *dst, *mac;

	if (m->nlmsg_type != RTM_NEWNEIGH || !has_payload(m, sizeof(*n)) ||
	    n->ndm_ifindex != s->ifindex || n->ndm_family != s->hop.family ||
	    !(n->ndm_state & KNOWN))
		return false;
	dst = find_attribute(first, left, NDA_DST, s->hop.len);
	mac = find_attribute(first, left, NDA_LLADDR, 6);
	if (!dst || !mac || memcmp(dst, s->hop.bytes, s->hop.len))
		return false;
	memcpy(s->mac, mac, 6);
	return true;
}

/* Interfaces without neighbours: loopback, tunnels. */
static bool has_neighbours(uint32_t ifindex)
{
	int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq r = { 0 };
	bool has = true;

	if (sock < 0)
		return true;
	r.ifr_ifindex = (int)ifindex;
	if (!ioctl(sock, SIOCGIFNAME, &r) && !ioctl(sock, SIOCGIFFLAGS, &r))
		has = !(r.ifr_flags & (IFF_LOOPBACK | IFF_NOARP));
	close(sock);
	return has;
}

static int find(const struct hca_next_hop *hop, uint8_t mac[6])
{
	struct search s = { addr_of(hop->addr), (int)hop->ifindex, mac };
	struct request r = {
		.head = { .nlmsg_len = NLMSG_LENGTH(sizeof(struct ndmsg)),
			  .nlmsg_type = RTM_GETNEIGH,
			  .nlmsg_flags = NLM_F_REQUEST },
		.neighbour = { .ndm_family = (unsigned char)s.hop.family,
			       .ndm_ifindex = s.ifindex },
	};
	int err;

	add_attribute(&r, NDA_DST, s.hop.bytes, s.hop.len);
	err = ask(&r, see_neighbour, &s);
	if (err != -EOPNOTSUPP)
		return err;
	/* Linux before 5.0 gives the whole table, or nothing. */
	r.head.nlmsg_len = NLMSG_LENGTH(sizeof(struct ndmsg));
	r.head.nlmsg_flags |= NLM_F_DUMP;
	r.neighbour.ndm_ifindex = 0;
	return ask(&r, see_neighbour, &s);
}

int hca_neigh_find(const struct hca_next_hop *hop, uint8_t mac[6])
{
	int err = find(hop, mac);

	return err == -ENOENT && !has_neighbours(hop->ifindex) ? -EOPNOTSUPP : err;
}

static socklen_t to_sockaddr(const struct ip_addr *p, uint32_t ifindex, uint16_t port,
			     struct sockaddr_storage *out)
{
	struct sockaddr_in *four = (void *)out;
	struct sockaddr_in6 *six = (void *)out;

	memset(out, 0, sizeof(*out));
	if (p->family == AF_INET) {
		four->sin_family = AF_INET;
		four->sin_port = htons(port);
		memcpy(&four->sin_addr, p->bytes, p->len);
		return sizeof(*four);
	}
	six->sin6_family = AF_INET6;
	six->sin6_port = htons(port);
	six->sin6_scope_id = ifindex;
	memcpy(&six->sin6_addr, p->bytes, p->len);
	return sizeof(*six);
}

int hca_neigh_probe(uint32_t ifindex, const uint8_t from[16], const uint8_t to[16])
{
	struct ip_addr source = addr_of(from), target = addr_of(to);
	int sock = socket(target.family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_storage a;
	socklen_t len;
	int err = 0;

	if (sock < 0)
		return -errno;
	len = to_sockaddr(&source, ifindex, 0, &a);
	if (source.family == target.family)
		(void)bind(sock, (struct sockaddr *)&a,
			   len); /* without it the route chooses the source */
	len = to_sockaddr(&target, ifindex, DISCARD_PORT, &a);
	if (sendto(sock, "", 0, MSG_NOSIGNAL, (struct sockaddr *)&a, len) < 0)
		err = -errno;
	close(sock);
	return err;
}
