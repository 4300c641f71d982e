/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The UDP socket of a datagram rsocket: datagrams to peers whose queue pairs are not known, and the
 * messages by which they become known.
 */
#ifndef RSOCKET_DGRAM_UDP_H
#define RSOCKET_DGRAM_UDP_H

#include "rsocket/dgram.h"
#include "rsocket/iov.h"

/* Without base.lock. The bytes of data that were sent, or -errno. */
ssize_t rs_dgram_udp_send(const struct rs_dgram *d, const struct rs_dest *dest, enum rs_udp_op op,
			  struct rs_iov *iov, bool nonblock);
/* Handler of the socket, for the service thread. */
void rs_dgram_udp_ready(struct rs_watch *watch);

#endif
