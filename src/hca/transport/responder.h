/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests of the peer; see responder.c. Lock held, inside an epoch section. */
#ifndef HCA_RESPONDER_H
#define HCA_RESPONDER_H

#include "hca/transport/qp_types.h"

/* `from` is the process of this host that sent the packet, NULL: it came from another host. */
void responder_packet(struct qp *qp, struct hca_peer *from, struct hca_acks *acks,
		      const struct roce_pkt *pkt, const struct hca_list *payload,
		      const uint8_t *grh);
void responder_reset(struct qp *qp);
/* The first request of the peer has this PSN. */
void responder_start(struct qp *qp, uint32_t psn);

#endif
