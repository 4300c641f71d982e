/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Receiving on a stream. With recv_lock held.
 */
#ifndef RSOCKET_STREAM_RECV_H
#define RSOCKET_STREAM_RECV_H

#include <sys/types.h>

#include "rsocket/iov.h"
#include "rsocket/stream.h"

/* The bytes received, 0 at the end of the stream, or -errno when there are none. */
ssize_t rs_stream_recv(struct rs_stream *s, struct rs_iov *iov, int msg_flags);

#endif
