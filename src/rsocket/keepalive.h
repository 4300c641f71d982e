/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SO_KEEPALIVE: a write of no bytes now and then, which fails when the peer is gone.
 */
#ifndef RSOCKET_KEEPALIVE_H
#define RSOCKET_KEEPALIVE_H

#include "rsocket/stream.h"

/* Without base.lock; the program's calls on options are serialised by send_lock. */
int rs_keepalive_set(struct rs_stream *s, bool on);
/* A new period, in options.keepalive_s. */
int rs_keepalive_rearm(struct rs_stream *s);

#endif
