/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens and finds the ports of the wire. */
#ifndef HCA_WIRE_PORTS_H
#define HCA_WIRE_PORTS_H

#include <stdbool.h>

#include "hca/device/port.h"

struct roce_endpoint;
struct roce_inspect;
struct wire_port;

/*
 * Before any port is opened: capture and faults of endpoints, and whether they want traffic of this
 * host to take the wire, where VERBENA_PATH does not decide.
 */
void wire_set_inspect(const struct roce_inspect *inspect, bool prefer_wire);
/* Every path takes the wire, also to peers on this host. */
bool wire_is_forced(void);

/*
 * The port at an address, opened if need be. -errno, explained. `is_retry`: a refusal of the last
 * second is returned again, without another attempt.
 */
int wire_port_get(const struct hca_gid_entry *src, bool is_retry, struct wire_port **out);
/* A QP of the program uses the port: from now on threads that poll receive from it. */
void wire_port_set_polled(struct wire_port *port);

/* The endpoint of the i-th port; NULL past the last. Endpoints stay open. */
const struct roce_endpoint *wire_endpoint(unsigned int i);

/* In the child of a fork: the sockets are the parent's. */
void wire_close_inherited(void);

#endif
