/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The handshake that sets up a link to another process. On the service thread, except listen and
 * unlisten.
 */
#ifndef FABRIC_HANDSHAKE_H
#define FABRIC_HANDSHAKE_H

#include <stdint.h>

struct fabric_link;

/* Begins to accept peers that know the token (FABRIC_TOKEN_BYTES). */
int handshake_listen(const uint8_t *token);
void handshake_unlisten(void);
/* Begins a handshake, or begins it again. 0 when under way, -EAGAIN to try later, or -errno. */
int handshake_connect(struct fabric_link *link);
/* In each iteration of the service thread; returns the time of the next one. */
uint64_t handshake_iterate(uint64_t now_ns);
/* Closes connections whose handshake has not begun. */
void handshake_shutdown(void);
/* In the child of a fork. */
void handshake_forked(void);

#endif
