/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sending on a stream. With send_lock held; return the bytes sent, or -errno when there are none.
 */
#ifndef RSOCKET_STREAM_SEND_H
#define RSOCKET_STREAM_SEND_H

#include <sys/types.h>

#include "rsocket/iov.h"
#include "rsocket/stream.h"

ssize_t rs_stream_send(struct rs_stream *s, struct rs_iov *iov, int msg_flags);
/* Into a buffer that the peer has opened with riomap(). */
ssize_t rs_stream_write_at(struct rs_stream *s, struct rs_iov *iov, uint64_t offset, int msg_flags);

#endif
