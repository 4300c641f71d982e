/* SPDX-License-Identifier: BSD-2-Clause */
/* Congestion on the wire: switches mark packets (ECN), receivers tell senders (CNP), who slow down. */
#ifndef HCA_CONGESTION_H
#define HCA_CONGESTION_H

#include "hca/transport/qp_types.h"

/* A packet for the QP came with the mark, from GID `src` to GID `dst`. Lock held. */
void congestion_seen(struct qp *qp, const struct roce_pkt *seen, const uint8_t *src,
		     const uint8_t *dst);
/* The other end says that ours did. Lock held. */
void congestion_told(struct qp *qp);

/* How often this process has said so, and been told. */
void congestion_count(uint64_t *said, uint64_t *heard);

#endif
