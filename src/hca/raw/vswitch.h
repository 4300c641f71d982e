/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The virtual switch joins the Ethernet ports of all adapters of one host directory that name the
 * same switch (the configuration's key `switch`; all ports by default). There is no switch process
 * and no learning: each port publishes the addresses that it wants (ether/rx_filter.h), and senders
 * read them.
 */
#ifndef HCA_VSWITCH_H
#define HCA_VSWITCH_H

#include "ether/frame.h"
#include "ether/port_types.h"
#include "hca/peers/peer.h"

struct hca_adapter;
struct netif;
struct qp;

/*
 * Frames that a sender has written and not published yet: one link and one interface at a time. It
 * is used by one thread at a time; all zero: none.
 */
struct vswitch_tx {
	struct fabric_link *link; /* its send lock is held; or NULL */
	struct netif *netif;      /* or NULL */
	unsigned int depth;       /* rules that send frames on may nest */
};

/* Joins the adapter's Ethernet ports to their switches; again is no error. 0 or -errno, explained. */
int vswitch_join(const struct hca_adapter *a);

/*
 * Sends a frame, whose tx is set, out of a port to every port that wants it. With a QP: false when
 * the frame has to wait for its only receiver's link or for the interface; the QP is run again when
 * there is room. Otherwise a receiver without room loses the frame. Inside an epoch section;
 * vswitch_flush() has to follow.
 */
bool vswitch_send(struct qp *qp, struct ether_port *port, struct ether_frame *frame);
/* Publishes the frames and releases the link's send lock. */
void vswitch_flush(struct vswitch_tx *tx);

/*
 * Receives a peer's frame, from a record that was peeked at, and those in the records behind it, up
 * to VSWITCH_BURST. Returns how many records may be released: 0 while the receive path is paused
 * (wq_rx_is_paused()); -EPROTO for a malformed record. Within a batch.
 */
#define VSWITCH_BURST 8u
int vswitch_receive(struct hca_peer *peer, const void *record, uint32_t len);

/* True when this process has sent a frame to another one since the last call. */
bool vswitch_has_sent(void);

#endif
