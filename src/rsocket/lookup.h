/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How public calls begin: from a descriptor to a socket, which is given back with rs_table_put().
 */
#ifndef RSOCKET_LOOKUP_H
#define RSOCKET_LOOKUP_H

#include "rsocket/dgram.h"
#include "rsocket/stream.h"

/* -EBADF, or -EINVAL for a repoll instance. */
int rs_socket_get(int fd, struct rs_socket **out);
/* -EOPNOTSUPP for a datagram socket. */
int rs_stream_get(int fd, struct rs_stream **out);

/* The datagram socket that it is, or NULL: a stream. */
static inline struct rs_dgram *rs_as_dgram(struct rs_socket *s)
{
	return s->entry.kind == RS_DGRAM ? (struct rs_dgram *)s : NULL;
}

static inline struct rs_stream *rs_as_stream(struct rs_socket *s)
{
	return s->entry.kind == RS_STREAM ? (struct rs_stream *)s : NULL;
}

#endif
