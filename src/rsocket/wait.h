/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Waiting until something is so on one socket.
 */
#ifndef RSOCKET_WAIT_H
#define RSOCKET_WAIT_H

#include "rsocket/socket.h"

typedef bool (*rs_condition)(const struct rs_socket *s);

/* With the lock held, and without it while waiting. -EAGAIN: it is not so, and `nonblock`; -EINTR. */
int rs_wait_until(struct rs_socket *s, bool nonblock, rs_condition is_so);

#endif
