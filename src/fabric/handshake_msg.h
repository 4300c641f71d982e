/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages of the handshake, with file descriptors.
 */
#ifndef FABRIC_HANDSHAKE_MSG_H
#define FABRIC_HANDSHAKE_MSG_H

#include <stddef.h>
#include <stdint.h>

#include "fabric/id.h"

#define HELLO_FDS 5

enum handshake_kind { HELLO = 1, WELCOME, YIELD, REFUSE, ASK, ANSWER };

enum { FLAG_SHARE = 1, FLAG_BARRIER = 2, FLAG_MAILBOX = 4 };

/* Both ends are one machine, so host byte order. */
struct handshake_msg {
	uint32_t magic;
	uint16_t version;
	uint16_t kind;
	fabric_id_t from, to;
	uint32_t ring_size;
	uint32_t flags;
	uint64_t segment_size;
};

_Static_assert(sizeof(struct handshake_msg) == 32, "every version begins the same way");

/* Fills in the message's head and sends it. */
int handshake_send(int sock, struct handshake_msg *m, const int *fds, size_t count);
/* -EAGAIN when nothing has come yet, -EPIPE when the peer hung up, -EPROTO. */
int handshake_receive(int sock, struct handshake_msg *m, int fds[HELLO_FDS], size_t *count);
/* Closes the descriptors that are not -1, and makes them -1. */
void handshake_close_fds(int *fds, size_t count);

#endif
