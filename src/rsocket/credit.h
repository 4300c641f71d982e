/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Flow control of a stream, the receiver's side: the peer learns how many more data messages it may
 * send, and which half of the receive buffer is free again.
 */
#ifndef RSOCKET_CREDIT_H
#define RSOCKET_CREDIT_H

#include "rsocket/stream.h"

/* With base.lock held: sends an update if one is due and a control slot is free. */
void rs_credit_update(struct rs_stream *s);
/* With base.lock held: sends a control message in a slot that is free. */
int rs_credit_send_ctrl(struct rs_stream *s, enum rs_ctrl ctrl);

#endif
