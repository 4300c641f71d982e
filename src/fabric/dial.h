/* SPDX-License-Identifier: BSD-2-Clause */
/* Sockets between processes of the host: a SOCK_SEQPACKET socket whose abstract name is made of the listener's token. */
#ifndef FABRIC_DIAL_H
#define FABRIC_DIAL_H

#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

/* The name of the socket of the process with the token (FABRIC_TOKEN_BYTES); returns its length. */
socklen_t dial_name(const uint8_t *token, struct sockaddr_un *name);
/* Connects, without waiting. -ECONNREFUSED: the process is gone; -EAGAIN: its backlog is full. */
int dial(const uint8_t *token, int *sock);
/* The process at the other end; -EPERM, explained, when it is another user's. */
int dial_check(int sock, pid_t *pid);

#endif
