/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Waiting until a condition holds on one socket.
 */
#ifndef RSOCKET_WAIT_H
#define RSOCKET_WAIT_H

#include "rsocket/socket.h"

typedef bool (*rs_condition)(const struct rs_socket *s);

/* The lock is held, but released while waiting. -EAGAIN: `nonblock`, and the condition does not hold; -EINTR. */
int rs_wait_until(struct rs_socket *s, bool nonblock, rs_condition holds);

#endif
