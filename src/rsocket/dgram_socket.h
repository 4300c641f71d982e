/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The life of a datagram rsocket, and its options.
 */
#ifndef RSOCKET_DGRAM_SOCKET_H
#define RSOCKET_DGRAM_SOCKET_H

#include "rsocket/dgram.h"

/* A descriptor, or -errno. */
int rs_dgram_open(int domain, int fd_flags);
int rs_dgram_bind(struct rs_dgram *d, const struct sockaddr *addr, socklen_t len);
int rs_dgram_connect(struct rs_dgram *d, const struct sockaddr *addr, socklen_t len);
/* The service thread takes the UDP socket over, if it has not yet. */
int rs_dgram_start(struct rs_dgram *d);
/* The socket has left the table. Waits for users, frees. */
void rs_dgram_close(struct rs_dgram *d);

int rs_dgram_option_set(struct rs_dgram *d, int level, int name, const void *value, socklen_t len);
int rs_dgram_option_get(struct rs_dgram *d, int level, int name, void *value, socklen_t *len);

#endif
