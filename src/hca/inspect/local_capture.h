/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Captures of traffic between processes of this host: writes the RoCEv2 packets that the wire would
 * have carried. Called while a capture is on, for each packet that is put into a link or taken from
 * one, with the queue pair's lock held and inside an epoch section.
 */
#ifndef HCA_LOCAL_CAPTURE_H
#define HCA_LOCAL_CAPTURE_H

#include "hca/transport/qp_types.h"

/* Arguments as for send_packet(). */
void local_capture_sent(struct qp *qp, const struct roce_pkt *pkt, const struct hca_list *list,
			uint64_t off);
/* A packet that is about to be handled. `grh`: of a datagram, or NULL; not part of the list. */
void local_capture_received(struct qp *qp, const struct roce_pkt *pkt, const struct hca_list *list,
			    const uint8_t *grh);

#endif
