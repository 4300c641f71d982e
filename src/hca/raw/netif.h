/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Network interfaces: frames to and from the interface that an Ethernet port is bound to, by a
 * packet socket, which needs CAP_NET_RAW, or a tap device. Without an interface the virtual switch
 * works alone.
 */
#ifndef HCA_NETIF_H
#define HCA_NETIF_H

#include "ether/frame.h"
#include "ether/port_types.h"
#include "hca/hca.h"

struct hca_adapter;
struct netif;

/*
 * Opens the port's interface, if it is bound to one, or those of its bonded links; a failure is explained.
 * Under join_lock.
 */
void netif_open(struct ether_port *port, const struct hca_adapter *a);
/* In a forked child, before its state is reset: closes the inherited descriptors. */
void netif_close_all(void);

/* Whether any port has one. */
static inline bool netif_any(void)
{
	return atomic_load_explicit(&hca.raw.netif.count, memory_order_relaxed);
}

/*
 * The interface that a frame leaves by: the port's, or that of a bonded link, by the affinity (device/lag.h) or,
 * without one, by the frame's flow. NULL: there is none.
 */
struct netif *netif_find_link(const struct ether_port *port, uint8_t affinity,
			      struct ether_frame *frame);

/* False: netif_send() would lose the frame. */
bool netif_has_room(struct netif *n);
/* True when netif_flush() has to follow. Without room the frame is lost. */
bool netif_send(struct netif *n, const struct ether_frame *frame);
void netif_flush(struct netif *n);

/* Receives frames of all interfaces, except those that another thread is reading. */
void netif_poll_all(void);
static inline void netif_poll(void)
{
	if (unlikely(netif_any()))
		netif_poll_all();
}

#endif
