/* SPDX-License-Identifier: BSD-2-Clause */
/* The link to a process of this host as a carrier: packets are records of the link's ring. */
#ifndef HCA_LINK_CARRIER_H
#define HCA_LINK_CARRIER_H

#include "hca/transport/carrier.h"

extern const struct carrier link_carrier;

/* The QP runs again when the link, whose send lock is held, has room. */
void link_carrier_block(struct qp *qp, struct hca_peer *peer);

#endif
