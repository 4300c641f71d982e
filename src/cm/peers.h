/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes at other hosts that have died. The kernel's RDMA CM disconnects for a process that is killed;
 * here no process is left that could, so the other end probes its connections.
 */
#ifndef CM_PEERS_H
#define CM_PEERS_H

#include <stdint.h>

/* A connection with another host may have been made: cm_peers_run() is due in a while. cm.lock is held. */
void cm_peers_watch(uint64_t now_ns);
/* Probes the connections with other hosts that are due. cm.lock is held. */
void cm_peers_run(uint64_t now_ns);

#endif
