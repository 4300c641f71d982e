/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A socket bound to a host's address receives no multicast, so each group, per interface, has a socket bound
 * to the group's address; the kernel copies a packet to every socket that has joined. One epoll
 * descriptor serves all groups of an endpoint.
 */
#include "roce/group.h"

#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "roce/endpoint_types.h"
#include "roce/socket.h"
#include "util/explain.h"

static uint32_t interface_of(const struct roce_endpoint *ep, const struct roce_addr *addr)
{
	return addr->ifindex ? addr->ifindex : ep->local.ifindex;
}

static struct roce_group *find(const struct roce_endpoint *ep, const struct roce_addr *addr)
{
	struct roce_group *g;

	LIST_FOREACH(g, &ep->groups, link)
		if (!memcmp(g->addr.gid, addr->gid, 16) &&
		    g->addr.ifindex == interface_of(ep, addr))
			break;
	return g;
}

static int membership(const struct roce_endpoint *ep, const struct roce_group *g)
{
	struct ip_mreqn v4 = { .imr_ifindex = (int)g->addr.ifindex };
	struct ipv6_mreq v6 = { .ipv6mr_interface = g->addr.ifindex };
	int err;

	if (ep->ipv4) {
		memcpy(&v4.imr_multiaddr, g->addr.gid + 12, 4);
		err = setsockopt(g->fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &v4, sizeof(v4));
	} else {
		memcpy(&v6.ipv6mr_multiaddr, g->addr.gid, 16);
		err = setsockopt(g->fd, IPPROTO_IPV6, IPV6_JOIN_GROUP, &v6, sizeof(v6));
	}
	return err ? -errno : 0;
}

static int open_group(struct roce_endpoint *ep, const struct roce_addr *addr)
{
	struct epoll_event ev = { .events = EPOLLIN };
	struct roce_group *g = calloc(1, sizeof(*g));
	int err;

	if (!g)
		return -ENOMEM;
	g->addr = *addr;
	g->addr.ifindex = interface_of(ep, addr);
	g->joined = 1;
	g->fd = roce_socket_open(ep, ROCE_SOCKET_GROUP, &g->addr, ep->port);
	if (g->fd < 0) {
		err = g->fd;
		goto free_g;
	}
	err = membership(ep, g);
	if (err)
		goto close_fd;
	ev.data.ptr = g;
	if (epoll_ctl(ep->group_fd, EPOLL_CTL_ADD, g->fd, &ev)) {
		err = -errno;
		goto close_fd;
	}
	LIST_INSERT_HEAD(&ep->groups, g, link);
	atomic_store(&ep->has_groups, true);
	return 0;
close_fd:
	close(g->fd);
free_g:
	free(g);
	return err;
}

int roce_group_join(struct roce_endpoint *ep, const struct roce_addr *group)
{
	char at[ROCE_ADDR_TEXT], text[ROCE_ADDR_TEXT];
	struct roce_group *g;
	int err = 0;

	if (!roce_addr_is_multicast(group) || roce_addr_is_ipv4(group) != ep->ipv4)
		return explain(EINVAL, "%s is no %s multicast group for %s",
			       roce_addr_format(group, text), ep->ipv4 ? "IPv4" : "IPv6",
			       roce_addr_format(&ep->local, at));
	pthread_mutex_lock(&ep->group_lock);
	g = find(ep, group);
	if (g)
		g->joined++;
	else
		err = open_group(ep, group);
	pthread_mutex_unlock(&ep->group_lock);
	if (err)
		return explain(-err, "cannot join %s at %s: %s", roce_addr_format(group, text),
			       roce_addr_format(&ep->local, at), strerror(-err));
	return 0;
}

static void close_group(struct roce_endpoint *ep, struct roce_group *g)
{
	LIST_REMOVE(g, link);
	roce_count(&ep->count.group_drops, roce_socket_drops(g->fd));
	epoll_ctl(ep->group_fd, EPOLL_CTL_DEL, g->fd, NULL);
	close(g->fd);
	free(g);
	atomic_store(&ep->has_groups, !LIST_EMPTY(&ep->groups));
}

int roce_group_leave(struct roce_endpoint *ep, const struct roce_addr *group)
{
	char text[ROCE_ADDR_TEXT];
	struct roce_group *g;
	int err = 0;

	pthread_mutex_lock(&ep->group_lock);
	g = find(ep, group);
	if (!g)
		err = -ENOENT;
	else if (!--g->joined)
		close_group(ep, g);
	pthread_mutex_unlock(&ep->group_lock);
	if (err)
		return explain(ENOENT, "%s has not been joined", roce_addr_format(group, text));
	return 0;
}

void roce_group_leave_all(struct roce_endpoint *ep)
{
	while (!LIST_EMPTY(&ep->groups))
		close_group(ep, LIST_FIRST(&ep->groups));
}

uint64_t roce_group_drops(const struct roce_endpoint *ep)
{
	pthread_mutex_t *lock =
		(pthread_mutex_t *)&ep->group_lock; /* not const, though nothing changes */
	const struct roce_group *g;
	uint64_t drops;

	pthread_mutex_lock(lock);
	drops = atomic_load(&ep->count.group_drops);
	LIST_FOREACH(g, &ep->groups, link)
		drops += roce_socket_drops(g->fd);
	pthread_mutex_unlock(lock);
	return drops;
}
