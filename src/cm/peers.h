/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes at other hosts that have died. The kernel's RDMA CM disconnects for a process that is killed;
 * here nobody is left who could, so the other end asks.
 */
#ifndef CM_PEERS_H
#define CM_PEERS_H

#include <stdint.h>

/* A connection with another host may have come: cm_peers_run() is due in a while. cm.lock is held. */
void cm_peers_watch(uint64_t now_ns);
/* Asks for peers when it is time to. cm.lock is held. */
void cm_peers_run(uint64_t now_ns);

#endif
