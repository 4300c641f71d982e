/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The completions of a stream, and what they bring. All with base.lock held.
 */
#ifndef RSOCKET_PROGRESS_H
#define RSOCKET_PROGRESS_H

#include "rsocket/stream.h"

extern const struct rs_socket_ops rs_stream_ops;

/* Handles the completions that are there, and sends credits that are due. */
void rs_progress(struct rs_stream *s);

bool rs_can_send(const struct rs_stream *s); /* a data message */

/* Conditions to wait for (wait.h), of streams: */
bool rs_can_send_or_never(const struct rs_socket *s); /* or the direction is closed */
bool rs_can_send_ctrl(const struct rs_socket *s);     /* or the connection is gone */
bool rs_can_receive(const struct rs_socket *s);       /* data, or its end */
bool rs_all_sent(const struct rs_socket *s);          /* or the connection is gone */
bool rs_is_opened(const struct rs_socket *s);         /* connected, or failed */
bool rs_can_accept(const struct rs_socket *s);        /* or not listening any more */

#endif
