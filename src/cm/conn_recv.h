/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages of the communication manager that arrive. Nothing in them is trusted: a message that does
 * not fit the state of its connection, or comes from another address than the connection's, is
 * dropped.
 */
#ifndef CM_CONN_RECV_H
#define CM_CONN_RECV_H

#include "cm/conn_types.h"

/* `from` is the way back to the sender. False: no message that connections are made of. */
bool conn_receive(struct conn_table *table, const struct conn_route *from,
		  const uint8_t mad[MSG_BYTES], uint64_t now_ns);
/*
 * The message is a DREQ of which the owner of a connection will be told. False for a forged or repeated one.
 */
bool conn_is_ended_by(struct conn_table *table, const struct conn_route *from,
		      const uint8_t mad[MSG_BYTES]);

#endif
