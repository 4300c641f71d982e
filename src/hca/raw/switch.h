/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The virtual switch: joins the raw ports of all adapters of one host directory that name the same
 * switch (the key `switch` of the configuration; all by default). It learns nothing: ports say what
 * they want (ether/rx_filter.h), and senders look there. No process is its master.
 */
#ifndef HCA_SWITCH_H
#define HCA_SWITCH_H

#include "ether/port.h"
#include "hca/peers/peer.h"

struct hca_adapter;
struct qp;

/* The Ethernet ports of the adapter can be sent to from now on. 0 or -errno, explained. */
VB_API int hca_switch_join(const struct hca_adapter *a);

/*
 * Hands a frame to everyone who wants it. With a QP: false when the frame has to wait for the one
 * receiver's link, and the QP is called again; without, and to several, it is lost there. Inside a
 * guard. Records may wait for hca_switch_flush(), to be called by the same thread.
 */
bool hca_switch_send(struct qp *qp, struct ether_port *port, struct ether_frame *frame);
void hca_switch_flush(void);

#define HCA_SWITCH_ROW 8u

/*
 * A record of a peer, peeked at, and up to a row of those behind it, within a batch. Returns how
 * many are done with and may be released: 0 while a receive queue has run dry. -EPROTO when one
 * makes no sense.
 */
int hca_switch_receive(struct hca_peer *peer, const void *record, uint32_t len);

/* Whether this process has sent a frame to another since the last call. */
bool hca_switch_has_sent(void);

void hca_switch_forked(void);

#endif
