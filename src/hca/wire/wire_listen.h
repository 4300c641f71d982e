/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ports of adapters whose datagram queue pairs receive at every address, including addresses that are
 * added later.
 */
#ifndef HCA_WIRE_LISTEN_H
#define HCA_WIRE_LISTEN_H

#include <stdbool.h>
#include <stdint.h>

#include "hca/wire/wire_listen_state.h"

struct qp;

/* A datagram QP receives at every address of its port. */
void wire_listen_qp(struct qp *qp);
/* From now on the service thread follows changes of GID tables; soon, unless all addresses are open. */
void wire_listen_follow_gids(enum wire_listen_state state);
/* Service thread: opens new addresses, and moves groups to them. Returns the next deadline. */
uint64_t wire_listen_timers(uint64_t now_ns);

#endif
