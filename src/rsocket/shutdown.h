/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The end of a stream: rshutdown() and rclose().
 */
#ifndef RSOCKET_SHUTDOWN_H
#define RSOCKET_SHUTDOWN_H

#include "rsocket/stream.h"

/* Returns when all that was sent before has arrived. */
int rs_shutdown(struct rs_stream *s, int how);
/* The socket has left the table. Ends the connection, waits for users, frees. */
void rs_stream_close(struct rs_stream *s);

#endif
