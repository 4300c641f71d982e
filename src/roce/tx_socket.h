/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Send sockets of an endpoint beside its main one: they give packets another UDP source port, by which
 * routers and bonded links tell flows apart. They stay open as long as the endpoint. Any thread.
 */
#ifndef ROCE_TX_SOCKET_H
#define ROCE_TX_SOCKET_H

#include <stdint.h>

#include "roce/addr.h"

struct roce_endpoint;

/*
 * Opens a send socket with this source port, unless there is one. -EADDRINUSE when a program without
 * SO_REUSEPORT has the port, -EACCES when it is privileged, -ENOSPC when there are too many sockets.
 */
int roce_tx_socket_open(struct roce_endpoint *ep, uint16_t port);
/*
 * The source port, 0xc000 or above, for packets to a host; opened by the first call. Beyond 64, hosts share
 * ports. 0: no socket could be opened.
 */
uint16_t roce_tx_socket_for_host(struct roce_endpoint *ep, const struct roce_addr *host);
/*
 * The source port for a flow that would like this one. Beyond 32, flows share ports. 0: no socket could be
 * opened.
 */
uint16_t roce_tx_socket_for_flow(struct roce_endpoint *ep, uint16_t port);

/*
 * The source port of a socket whose packets leave by an interface, whatever the routes prefer: this port if
 * it is not 0. 0: no socket could be opened.
 */
uint16_t roce_tx_socket_for_link(struct roce_endpoint *ep, uint16_t port, uint32_t ifindex);
uint16_t roce_tx_socket_find_link(const struct roce_endpoint *ep, uint16_t port, uint32_t ifindex);

/* Index into ep->tx_socket of the socket with this port; 0, the main socket, when there is none. */
uint16_t roce_tx_socket_find(const struct roce_endpoint *ep, uint16_t port);
/* Appends a row. tx_socket_lock held, except while the endpoint is opened. */
void roce_tx_socket_add(struct roce_endpoint *ep, int fd, uint16_t port, uint32_t ifindex);

#endif
