/* SPDX-License-Identifier: BSD-2-Clause */
/* Where packets of a QP or address handle go, prepared for sending. Plain values; any thread. */
#ifndef ROCE_PATH_H
#define ROCE_PATH_H

#include <stdbool.h>
#include <stdint.h>

#include "roce/addr.h"
#include "roce/icrc.h"

struct roce_endpoint;

struct roce_dest {
	struct roce_addr addr; /* a host, or a multicast group */
	uint16_t port;         /* 0: that of the endpoint, 4791 */
	uint16_t pkey;         /* 0: ROCE_PKEY_DEFAULT */
	uint8_t tclass;        /* with the ECN bits */
	uint8_t ttl;           /* 0: 64 */
	uint16_t sport;        /* of a socket of tx_socket.h; 0: that of the endpoint */
	uint32_t link;         /* index of the interface to leave by, with such a socket; 0: any */
};

/* How packets leave. Packets with equal routes, byte by byte, may share a send. */
struct roce_route {
	union roce_sockaddr to;
	uint16_t to_len;
	uint16_t socket; /* index into ep->tx_socket */
	uint8_t tclass;
	uint8_t ttl;
	bool group; /* the socket's TTL does not apply to multicast */
	uint8_t zero;
};

_Static_assert(sizeof(struct roce_route) == sizeof(union roce_sockaddr) + 8, "no padding");

/* Valid for the endpoint that it was made with. */
struct roce_path {
	struct roce_icrc_flow icrc;
	struct roce_addr dst;
	struct roce_route route;
	uint16_t sport;
	uint16_t dport;
	uint16_t pkey;
	const void *sender; /* the caller's, for comments in captures; or NULL */
};

/* -EINVAL when the endpoint has the other IP version. */
int roce_path_init(struct roce_path *path, const struct roce_endpoint *ep,
		   const struct roce_dest *dest);

#endif
