/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Guests: responders that stand for XRC receive queue pairs of other processes, whose requests are for
 * shared receive queues of this one (xrc_forward.c has the other half).
 */
#ifndef HCA_XRC_GUEST_H
#define HCA_XRC_GUEST_H

#include "hca/transport/qp_types.h"

/* The guest for a forwarded request; NULL: it is not for a queue of ours. Inside an epoch section. */
struct qp *xrc_guest(struct hca_peer *from, const struct roce_pkt *pkt);

extern const struct peer_listener xrc_guest_listener;

#endif
