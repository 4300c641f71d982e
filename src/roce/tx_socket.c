/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows are added under tx_socket_lock and never change place, so that senders read them without it. */
#include "roce/tx_socket.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "roce/clock.h"
#include "roce/endpoint_types.h"
#include "roce/port_owner.h"
#include "roce/socket.h"
#include "util/explain.h"

enum {
	/* Annex A17 leaves the source port to the sender; adapters and rxe use the dynamic range. */
	PORT_FIRST = 0xc000,
	PORT_COUNT = 0x4000,
	PORT_TRIES = 8,
};

void roce_tx_socket_add(struct roce_endpoint *ep, int fd, uint16_t port, uint32_t ifindex)
{
	uint16_t count = atomic_load_explicit(&ep->tx_sockets, memory_order_relaxed);

	ep->tx_socket[count] = (struct roce_tx_socket){
		.fd = fd, .port = port, .ttl = ROCE_TTL, .ifindex = ifindex
	};
	/* [SO1] pairs with count_sockets(): the row before the count */
	atomic_store_explicit(&ep->tx_sockets, count + 1, memory_order_release);
}

static uint16_t count_sockets(const struct roce_endpoint *ep)
{
	/* [SO1] pairs with roce_tx_socket_add() */
	return atomic_load_explicit(&ep->tx_sockets, memory_order_acquire);
}

static bool is_full(const struct roce_endpoint *ep)
{
	return count_sockets(ep) == array_size(ep->tx_socket);
}

uint16_t roce_tx_socket_find_link(const struct roce_endpoint *ep, uint16_t port, uint32_t ifindex)
{
	uint16_t count = count_sockets(ep);

	for (uint16_t i = 1; i < count; i++)
		if (ep->tx_socket[i].ifindex == ifindex &&
		    (ep->tx_socket[i].port == port || (ifindex && !port)))
			return i;
	return 0;
}

uint16_t roce_tx_socket_find(const struct roce_endpoint *ep, uint16_t port)
{
	return roce_tx_socket_find_link(ep, port, 0);
}

static int open_chosen(struct roce_endpoint *ep, uint16_t port, uint32_t ifindex)
{
	char text[ROCE_ADDR_TEXT], owner[256];
	int fd;

	roce_addr_format(&ep->local, text);
	if (is_full(ep))
		return explain(ENOSPC, "source port %u at %s: %u other ones are in use", port, text,
			       ROCE_MAX_TX_SOCKETS);
	fd = roce_socket_open(ep, ROCE_SOCKET_TX, &ep->local, port);
	if (fd == -EADDRINUSE) {
		roce_port_owner(&ep->local, port, owner, sizeof(owner));
		return explain(EADDRINUSE, "source port %u at %s is taken by %s", port, text,
			       owner);
	}
	if (fd < 0)
		return explain(-fd, "source port %u at %s: %s", port, text, strerror(-fd));
	roce_socket_set_link(fd, ep, ifindex);
	roce_tx_socket_add(ep, fd, port, ifindex);
	return 0;
}

int roce_tx_socket_open(struct roce_endpoint *ep, uint16_t port)
{
	int err = 0;

	if (!port)
		return explain(EINVAL, "packets have a source port; 0 is none");
	if (port == ep->port)
		return 0;
	pthread_mutex_lock(&ep->tx_socket_lock);
	if (!roce_tx_socket_find(ep, port))
		err = open_chosen(ep, port, 0);
	pthread_mutex_unlock(&ep->tx_socket_lock);
	return err;
}

/* Opens a socket at a random port; returns its index, 0 on failure. */
static uint16_t open_random(struct roce_endpoint *ep, uint32_t ifindex)
{
	uint16_t port = 0;
	int fd = -EADDRINUSE;

	if (is_full(ep))
		return 0;
	for (int i = 0; i < PORT_TRIES && fd == -EADDRINUSE; i++) {
		uint16_t random = (uint16_t)roce_now_ns();

		(void)!getrandom(&random, sizeof(random), GRND_NONBLOCK);
		port = PORT_FIRST + random % PORT_COUNT;
		if (port != ep->port && !roce_tx_socket_find(ep, port))
			fd = roce_socket_open(ep, ROCE_SOCKET_TX, &ep->local, port);
	}
	if (fd < 0)
		return 0;
	roce_socket_set_link(fd, ep, ifindex);
	roce_tx_socket_add(ep, fd, port, ifindex);
	return count_sockets(ep) - 1;
}

uint16_t roce_tx_socket_for_host(struct roce_endpoint *ep, const struct roce_addr *host)
{
	/* Hosts of one network differ in their last bytes. */
	unsigned int hash = host->gid[14] * 31u + host->gid[15];
	uint16_t *slot = &ep->tx_socket_by_host[hash % ROCE_HOST_TX_SOCKETS], port;

	pthread_mutex_lock(&ep->tx_socket_lock);
	if (!*slot)
		*slot = open_random(ep, 0);
	port = *slot ? ep->tx_socket[*slot].port : 0;
	pthread_mutex_unlock(&ep->tx_socket_lock);
	return port;
}

/* tx_socket_lock held. */
static uint16_t add_flow(struct roce_endpoint *ep, uint16_t port)
{
	if (open_chosen(ep, port, 0))
		return 0;
	ep->flow_tx_socket[ep->flow_tx_sockets++] = count_sockets(ep) - 1;
	return port;
}

uint16_t roce_tx_socket_for_flow(struct roce_endpoint *ep, uint16_t port)
{
	if (port == ep->port || roce_tx_socket_find(ep, port))
		return port;
	pthread_mutex_lock(&ep->tx_socket_lock);
	if (ep->flow_tx_sockets == ROCE_FLOW_TX_SOCKETS)
		port = ep->tx_socket[ep->flow_tx_socket[port % ROCE_FLOW_TX_SOCKETS]].port;
	else if (!roce_tx_socket_find(ep, port))
		port = add_flow(ep, port);
	pthread_mutex_unlock(&ep->tx_socket_lock);
	return port;
}

uint16_t roce_tx_socket_for_link(struct roce_endpoint *ep, uint16_t port, uint32_t ifindex)
{
	uint16_t found;

	pthread_mutex_lock(&ep->tx_socket_lock);
	found = roce_tx_socket_find_link(ep, port, ifindex);
	if (!found && !port)
		found = open_random(ep, ifindex);
	else if (!found && !open_chosen(ep, port, ifindex))
		found = count_sockets(ep) - 1;
	port = found ? ep->tx_socket[found].port : 0;
	pthread_mutex_unlock(&ep->tx_socket_lock);
	return port;
}
