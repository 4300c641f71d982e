/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames to and from the interface that a port is bound to, through a packet socket. Needs
 * CAP_NET_RAW; without it the virtual switch works alone.
 */
#ifndef HCA_NETIF_H
#define HCA_NETIF_H

#include "ether/port.h"

struct hca_adapter;

/* Opens the port's interface, if it is bound to one. What stands against it is explained. */
void hca_netif_open(struct ether_port *port, const struct hca_adapter *a);

bool hca_netif_is_open(const struct ether_port *port);
/* A frame would find room now. */
bool hca_netif_has_room(struct ether_port *port);
/* Goes out with hca_netif_flush(), by the same thread; without room it is lost. */
void hca_netif_send(struct ether_port *port, const struct ether_frame *frame);
void hca_netif_flush(void);

/* Takes in what has arrived, unless another thread is at it. Cheap while there is no interface. */
extern _Atomic bool hca_netif_any;
void hca_netif_poll_all(void);
static inline void hca_netif_poll(void)
{
	if (unlikely(atomic_load_explicit(&hca_netif_any, memory_order_relaxed)))
		hca_netif_poll_all();
}

void hca_netif_forked(void);

#endif
