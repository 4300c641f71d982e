/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections for the tests of librspreload's calls. */
#ifndef RSPRELOAD_SUPPORT_H
#define RSPRELOAD_SUPPORT_H

#include <netinet/in.h>

struct ends {
	int listener, client, server;
	struct sockaddr_in addr; /* the listener's */
};

/* An address of this host; port in host order. */
struct sockaddr_in loopback(uint16_t port);

/* Sockets by the calls that are tested, connected to each other. */
struct ends connected(void);
void close_ends(struct ends *ends);

/* cmocka's setup and teardown: rsockets, and none left open. */
int begin(void **state);
int all_closed(void **state);

#endif
