/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Port numbers in use on the host, per port space. With cm.lock held.
 */
#ifndef CM_PORT_H
#define CM_PORT_H

#include <rdma/rdma_cma.h>
#include <stdbool.h>

struct cm_id;

/*
 * Claims the port in addr for the id, or picks a free one when that is 0 and writes it there.
 * -EADDRINUSE: another id has this address and port. -EADDRNOTAVAIL: another id has the port and
 * one of the two is a wildcard, or no port is free. -EACCES: a port for privileged programs.
 */
int cm_port_claim(struct cm_id *id, enum rdma_port_space ps, struct sockaddr *addr);

/*
 * The id is about to listen: it must be the only one on its port, even with REUSEADDR, and shares it
 * with none from now on. Same errors.
 */
int cm_port_listen(struct cm_id *id);

/* REUSEADDR or AFONLY of the id has changed. Does nothing when it has no port. */
void cm_port_update(struct cm_id *id);

/* Whether the id, bound to addr, leaves its port to the other IP family: IPv4 always does. */
bool cm_port_af_only(const struct cm_id *id, const struct sockaddr *addr);

/*
 * The id that listens for connections to dst, an address and port of this host; NULL dst: of the port
 * alone. NULL when there is none.
 */
struct cm_id *cm_port_listener(enum rdma_port_space ps, uint16_t port, const struct sockaddr *dst);

/* Does nothing when the id has no port. */
void cm_port_release(struct cm_id *id);

#endif
