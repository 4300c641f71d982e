/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sockets to send from, beside the endpoint's own: with a port that somebody chose, or to one host (lane.c).
 * Rows are added under source_lock and stay to the end, so that senders read them without it.
 */
#include <errno.h>
#include <string.h>

#include "roce/tx.h"
#include "roce/udp_priv.h"
#include "util/explain.h"

void roce_source_add(struct roce_endpoint *ep, struct roce_source source)
{
	uint16_t count = atomic_load_explicit(&ep->sources, memory_order_relaxed);

	source.ttl = ROCE_TTL;
	ep->source[count] = source;
	/* [S1] pairs with count_sources(): the socket before the count */
	atomic_store_explicit(&ep->sources, count + 1, memory_order_release);
}

static uint16_t count_sources(const struct roce_endpoint *ep)
{
	/* [S1] pairs with roce_source_add() */
	return atomic_load_explicit(&ep->sources, memory_order_acquire);
}

static bool leads_to(const struct roce_source *source, const union roce_sockaddr *to)
{
	return !source->lane || (to && !memcmp(&source->to, to, sizeof(*to)));
}

uint16_t roce_source_find(const struct roce_endpoint *ep, uint16_t port,
			  const union roce_sockaddr *to)
{
	uint16_t count = count_sources(ep);

	for (uint16_t i = 1; i < count; i++)
		if (ep->source[i].port == port && leads_to(&ep->source[i], to))
			return i;
	return 0;
}

static int add_chosen(struct roce_endpoint *ep, uint16_t port)
{
	char text[ROCE_ADDR_TEXT], holder[256];
	int fd;

	roce_addr_format(&ep->local, text);
	if (count_sources(ep) - ep->lanes > ROCE_MAX_SOURCES)
		return explain(ENOSPC, "source port %u at %s: %u other ones are in use", port, text,
			       ROCE_MAX_SOURCES);
	fd = roce_socket_open(ep, ROCE_SOCKET_SOURCE, &ep->local, port);
	if (fd == -EADDRINUSE) {
		roce_port_holder(&ep->local, port, holder, sizeof(holder));
		return explain(EADDRINUSE, "source port %u at %s is taken by %s", port, text,
			       holder);
	}
	if (fd < 0)
		return explain(-fd, "source port %u at %s: %s", port, text, strerror(-fd));
	roce_source_add(ep, (struct roce_source){ .fd = fd, .port = port });
	return 0;
}

int roce_endpoint_source(struct roce_endpoint *ep, uint16_t port)
{
	int err = 0;

	if (!port)
		return explain(EINVAL, "packets have a source port; 0 is none");
	if (port == ep->port)
		return 0;
	pthread_mutex_lock(&ep->source_lock);
	if (!roce_source_find(ep, port, NULL))
		err = add_chosen(ep, port);
	pthread_mutex_unlock(&ep->source_lock);
	return err;
}

static uint16_t find_lane(const struct roce_endpoint *ep, const union roce_sockaddr *to)
{
	uint16_t count = count_sources(ep);

	for (uint16_t i = 1; i < count; i++)
		if (ep->source[i].lane && !memcmp(&ep->source[i].to, to, sizeof(*to)))
			return ep->source[i].port;
	return 0;
}

static uint16_t add_lane(struct roce_endpoint *ep, const union roce_sockaddr *to)
{
	struct roce_source lane = { .lane = true, .to = *to };
	int err;

	if (ep->no_lanes || ep->lanes == ROCE_MAX_LANES)
		return 0;
	lane.fd = roce_lane_open(ep, &lane.port);
	if (lane.fd < 0)
		return 0;
	err = roce_lane_connect(ep, &lane);
	if (err) {
		close(lane.fd);
		ep->no_lanes = err == -EOPNOTSUPP;
		return 0;
	}
	ep->lanes++;
	roce_source_add(ep, lane);
	return lane.port;
}

void roce_endpoint_lane(struct roce_endpoint *ep, struct roce_dest *dest)
{
	union roce_sockaddr to;

	dest->sport = 0;
	if (roce_addr_is_multicast(&dest->addr) || roce_addr_is_ipv4(&dest->addr) != ep->ipv4)
		return;
	roce_dest_sockaddr(ep, dest, &to);
	pthread_mutex_lock(&ep->source_lock);
	dest->sport = find_lane(ep, &to);
	if (!dest->sport)
		dest->sport = add_lane(ep, &to);
	pthread_mutex_unlock(&ep->source_lock);
}
