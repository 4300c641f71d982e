/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Received packets on their way to queue pairs: of this process, of a multicast group, or, forwarded
 * over the fabric, of another process of this host. Packets for no QP are dropped and counted by
 * reason.
 */
#ifndef HCA_WIRE_RX_H
#define HCA_WIRE_RX_H

#include <stdint.h>

#include "roce/rx.h"

/* A roce_rx_fn; `port` is a struct wire_port. rx_lock held, inside an epoch section. */
roce_rx_fn wire_rx_packet;
/* A packet that another process received for a QP of this one. Inside an epoch section. */
void wire_rx_forwarded(const void *body, uint32_t len);

#endif
