/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The passive side of a connection: the service thread answers requests, and sockets that are
 * connected wait for raccept().
 */
#ifndef RSOCKET_LISTEN_H
#define RSOCKET_LISTEN_H

#include "rsocket/stream.h"

/* With base.lock held. */
int rs_listen_start(struct rs_stream *s, int backlog);

/* Events, with the service lock held. */
void rs_listen_request(struct rs_stream *listener, const struct rdma_cm_event *event,
		       struct rs_cm_cleanup *cleanup);
void rs_listen_event(struct rs_stream *embryo, const struct rdma_cm_event *event,
		     struct rs_cm_cleanup *cleanup);
/* Frees a socket that the program has never seen. Without the lock of a socket. */
void rs_listen_discard(struct rs_stream *s);

/* Takes a connected socket out of the queue, in which there is one; with base.lock held. */
struct rs_stream *rs_listen_take(struct rs_stream *listener);
/* Answers held requests, as far as the backlog has room again; without a lock. */
void rs_listen_admit(struct rs_stream *listener);
/* Frees the sockets that wait for raccept(), and embryos; in phase CLOSED, without a lock. */
void rs_listen_close(struct rs_stream *listener);

#endif
