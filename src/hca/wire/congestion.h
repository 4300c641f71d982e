/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Congestion on the wire: switches mark packets (ECN), receivers of marked packets send congestion
 * notification packets (CNP), and senders that receive them slow down.
 */
#ifndef HCA_CONGESTION_H
#define HCA_CONGESTION_H

#include "hca/transport/qp_types.h"

/* A marked packet arrived for the QP, from GID `src` to GID `dst`. The QP's lock is held. */
void congestion_marked(struct qp *qp, const struct roce_pkt *marked, const uint8_t *src,
		       const uint8_t *dst);
/* A CNP arrived for the QP, whose lock is held. */
void congestion_notified(struct qp *qp);

/* CNPs that this process has sent and received. */
void congestion_count(uint64_t *sent, uint64_t *received);

#endif
