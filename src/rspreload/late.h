/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connections for programs that fork (RDMAV_FORK_SAFE=1 on both sides). An RDMA connection stays with
 * the process that made it, and a server that forks for each client accepts before it forks. So the two
 * sides connect by TCP, and the connection moves to RDMA when it is first used for data:
 *
 *	passive side: listens to the port of the TCP connection over RDMA, sends 4 zero bytes by TCP
 *	active side:  peeks at them, connects to the peer's address and port over RDMA
 *	both:         shut the TCP connection down, which stays as the placeholder
 *
 * One process at a time can listen to the port; others that move a connection of it wait their turn.
 */
#ifndef RSPRELOAD_LATE_H
#define RSPRELOAD_LATE_H

/* Moves the connection of a RSP_LATE_ACTIVE, _PASSIVE or _BUSY number; when that fails it ends. */
void rsp_late_connect(int number);

#endif
