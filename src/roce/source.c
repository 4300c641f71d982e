/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Send sockets of an endpoint beside its main one: their only purpose is another UDP source port, by
 * which routers and bonded links spread flows. Rows are added under source_lock and stay until the
 * endpoint is closed, so senders read them without the lock.
 */
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "roce/udp_priv.h"
#include "util/explain.h"

enum {
	/* Annex A17 leaves the source port to the sender; adapters take one of the dynamic range. */
	PORT_FIRST = 0xc000,
	PORT_COUNT = 0x4000,
	PORT_TRIES = 8,
};

void roce_source_add(struct roce_endpoint *ep, struct roce_source source)
{
	uint16_t count = atomic_load_explicit(&ep->sources, memory_order_relaxed);

	source.ttl = ROCE_TTL;
	ep->source[count] = source;
	/* [SO1] pairs with count_sources(): the socket before the count */
	atomic_store_explicit(&ep->sources, count + 1, memory_order_release);
}

static uint16_t count_sources(const struct roce_endpoint *ep)
{
	/* [SO1] pairs with roce_source_add() */
	return atomic_load_explicit(&ep->sources, memory_order_acquire);
}

static bool is_full(const struct roce_endpoint *ep)
{
	return count_sources(ep) == array_size(ep->source);
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
	if (is_full(ep))
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

/* Opens a socket at a random port; returns its index, 0 on failure. */
static uint16_t add_random(struct roce_endpoint *ep)
{
	uint16_t port = 0;
	int fd = -EADDRINUSE;

	if (is_full(ep))
		return 0;
	for (int i = 0; i < PORT_TRIES && fd == -EADDRINUSE; i++) {
		uint16_t random = (uint16_t)roce_now_ns();

		(void)!getrandom(&random, sizeof(random), GRND_NONBLOCK);
		port = PORT_FIRST + random % PORT_COUNT;
		if (port != ep->port)
			fd = roce_socket_open(ep, ROCE_SOCKET_SOURCE, &ep->local, port);
	}
	if (fd < 0)
		return 0;
	roce_source_add(ep, (struct roce_source){ .fd = fd, .port = port });
	return count_sources(ep) - 1;
}

uint16_t roce_endpoint_source_for(struct roce_endpoint *ep, const struct roce_addr *host)
{
	/* Hosts of one network differ in their last bytes. */
	uint16_t *slot = &ep->by_host[(host->gid[14] * 31u + host->gid[15]) % ROCE_HOST_SOURCES];
	uint16_t port;

	pthread_mutex_lock(&ep->source_lock);
	if (!*slot)
		*slot = add_random(ep);
	port = *slot ? ep->source[*slot].port : 0;
	pthread_mutex_unlock(&ep->source_lock);
	return port;
}
