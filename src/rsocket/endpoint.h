/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The queue pair of a stream, its completion queue and its registered buffers.
 */
#ifndef RSOCKET_ENDPOINT_H
#define RSOCKET_ENDPOINT_H

#include "rsocket/conn_data.h"
#include "rsocket/stream.h"

/* All with base.lock held, except destroy, when nothing else uses the socket any more. */

/* The id has its adapter. base.sizes becomes what the adapter can do. */
int rs_endpoint_create(struct rs_stream *s);
/* Nothing to do without an endpoint. Leaves the id. */
void rs_endpoint_destroy(struct rs_stream *s);

/* The connection data of this side, and what the other side's means here; -EPROTO. */
void rs_endpoint_describe(const struct rs_stream *s, struct rs_conn_data *data);
int rs_endpoint_set_peer(struct rs_stream *s, const struct rs_conn_data *data);

/* Asks for a report of the next completion to the channel. */
int rs_endpoint_arm(struct rs_stream *s);
/* Takes the report out of the channel, if it is there. */
void rs_endpoint_take_event(struct rs_stream *s);

#endif
