/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sending and receiving datagrams.
 */
#ifndef RSOCKET_DGRAM_IO_H
#define RSOCKET_DGRAM_IO_H

#include <sys/types.h>

#include "rsocket/dgram.h"
#include "rsocket/iov.h"

/* With send_lock held; `to` is NULL for the connected peer. */
ssize_t rs_dgram_send(struct rs_dgram *d, struct rs_iov *iov, int msg_flags,
		      const union rs_addr *to);
/* With recv_lock held. *truncated: the buffers were too short. */
ssize_t rs_dgram_recv(struct rs_dgram *d, struct rs_iov *iov, int msg_flags, union rs_addr *from,
		      bool *truncated);

#endif
