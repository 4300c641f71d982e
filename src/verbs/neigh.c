/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Neighbours in the kernel's tables, by rtnetlink, which needs no privilege. Each call opens its own
 * socket; no state, no lock.
 */
#include "verbs/neigh.h"

#include <errno.h>
#include <linux/if_vlan.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define RESOLVE_MS   3000 /* limit for an answer; that of rdma-core */
#define RETRY_MS     5    /* between two looks at the table */
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
	uint8_t attributes[64];
};

static void add_attribute(struct request *r, uint16_t type, const void *data, uint32_t len)
{
	struct rtattr *a = (void *)((uint8_t *)r + NLMSG_ALIGN(r->head.nlmsg_len));

	a->rta_type = type;
	a->rta_len = RTA_LENGTH(len);
	memcpy(RTA_DATA(a), data, len);
	r->head.nlmsg_len = NLMSG_ALIGN(r->head.nlmsg_len) + RTA_ALIGN(a->rta_len);
}

static const void *find_attribute(const struct rtattr *a, int left, uint16_t type, uint32_t len)
{
	for (; RTA_OK(a, left); a = RTA_NEXT(a, left))
		if (a->rta_type == type && RTA_PAYLOAD(a) >= len)
			return RTA_DATA(a);
	return NULL;
}

/* Sends, and hands every answer to `see` until that, the kernel or an error says enough. */
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
			if (m->nlmsg_type == NLMSG_DONE || m->nlmsg_type == NLMSG_ERROR) {
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

static bool see_route(const struct nlmsghdr *m, void *arg)
{
	const struct rtmsg *route = NLMSG_DATA(m);
	struct ip_addr *hop = arg;
	const void *gateway;

	if (m->nlmsg_type != RTM_NEWROUTE || route->rtm_type != RTN_UNICAST)
		return false;
	gateway = find_attribute(RTM_RTA(route), (int)RTM_PAYLOAD(m), RTA_GATEWAY, hop->len);
	if (gateway)
		memcpy(hop->bytes, gateway, hop->len);
	return true;
}

/* Replaces the destination by the next hop. */
static int find_hop(uint32_t ifindex, struct ip_addr *hop)
{
	struct request r = {
		.head = { .nlmsg_len = NLMSG_LENGTH(sizeof(struct rtmsg)),
			  .nlmsg_type = RTM_GETROUTE,
			  .nlmsg_flags = NLM_F_REQUEST },
		.route = { .rtm_family = (unsigned char)hop->family,
			   .rtm_dst_len = (unsigned char)(8 * hop->len) },
	};

	add_attribute(&r, RTA_DST, hop->bytes, hop->len);
	add_attribute(&r, RTA_OIF, &ifindex, sizeof(ifindex));
	return ask(&r, see_route, hop);
}

/* ---- its MAC ---- */

struct search {
	const struct ip_addr *hop;
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

	if (m->nlmsg_type != RTM_NEWNEIGH || n->ndm_ifindex != s->ifindex ||
	    n->ndm_family != s->hop->family || !(n->ndm_state & KNOWN))
		return false;
	dst = find_attribute(first, left, NDA_DST, s->hop->len);
	mac = find_attribute(first, left, NDA_LLADDR, 6);
	if (!dst || !mac || memcmp(dst, s->hop->bytes, s->hop->len))
		return false;
	memcpy(s->mac, mac, 6);
	return true;
}

static int look(uint32_t ifindex, const struct ip_addr *hop, uint8_t mac[6])
{
	struct request r = {
		.head = { .nlmsg_len = NLMSG_LENGTH(sizeof(struct ndmsg)),
			  .nlmsg_type = RTM_GETNEIGH,
			  .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		.neighbour = { .ndm_family = (unsigned char)hop->family },
	};
	struct search s = { hop, (int)ifindex, mac };

	return ask(&r, see_neighbour, &s);
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

/* Sends an empty datagram to the discard port, so that the kernel resolves the MAC. */
static int trigger_resolution(uint32_t ifindex, const struct ip_addr *from,
			      const struct ip_addr *to)
{
	int sock = socket(to->family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_storage a;
	socklen_t len;
	int err = 0;

	if (sock < 0)
		return -errno;
	len = to_sockaddr(from, ifindex, 0, &a);
	if (from->family == to->family)
		(void)bind(sock, (struct sockaddr *)&a,
			   len); /* without it the route chooses the source */
	len = to_sockaddr(to, ifindex, DISCARD_PORT, &a);
	if (sendto(sock, "", 0, MSG_NOSIGNAL, (struct sockaddr *)&a, len) < 0)
		err = -errno;
	close(sock);
	return err;
}

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int vb_neigh_mac(unsigned int ifindex, const uint8_t from[16], const uint8_t to[16], uint8_t mac[6])
{
	struct ip_addr source = addr_of(from), target = addr_of(to), hop = target;
	long end = now_ms() + RESOLVE_MS;

	if (!ifindex || find_hop(ifindex, &hop))
		return -EHOSTUNREACH;
	if (!look(ifindex, &hop, mac))
		return 0;
	if (trigger_resolution(ifindex, &source, &target))
		return -EHOSTUNREACH;
	while (look(ifindex, &hop, mac)) {
		if (now_ms() > end)
			return -EHOSTUNREACH;
		poll(NULL, 0, RETRY_MS);
	}
	return 0;
}

uint16_t vb_neigh_vlan(unsigned int ifindex)
{
	struct vlan_ioctl_args args = { .cmd = GET_VLAN_VID_CMD };
	int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	uint16_t vid = VB_NO_VLAN;
	char name[IF_NAMESIZE];

	if (sock < 0)
		return vid;
	if (ifindex && if_indextoname(ifindex, name)) {
		snprintf(args.device1, sizeof(args.device1), "%s", name);
		if (!ioctl(sock, SIOCGIFVLAN, &args))
			vid = (uint16_t)args.u.VID;
	}
	close(sock);
	return vid;
}
