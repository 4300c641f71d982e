/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sockets to send from, beside the endpoint's own: with a port that somebody chose. Rows are added under
 * source_lock and stay to the end, so that senders read them without it.
 *
 * None of them is connected, though that would spare the kernel the way to the host with every send: it
 * counts the IPv4 ids of a connected socket from a random one on, and the ICRC covers them.
 */
#include <errno.h>
#include <string.h>

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

uint16_t roce_source_find(const struct roce_endpoint *ep, uint16_t port)
{
	uint16_t count = count_sources(ep);

	for (uint16_t i = 1; i < count; i++)
		if (ep->source[i].port == port)
			return i;
	return 0;
}

static int add_chosen(struct roce_endpoint *ep, uint16_t port)
{
	char text[ROCE_ADDR_TEXT], holder[256];
	int fd;

	roce_addr_format(&ep->local, text);
	if (count_sources(ep) > ROCE_MAX_SOURCES)
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
	if (!roce_source_find(ep, port))
		err = add_chosen(ep, port);
	pthread_mutex_unlock(&ep->source_lock);
	return err;
}
