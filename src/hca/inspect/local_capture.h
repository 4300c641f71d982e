/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Captures of traffic that never was on a wire: the packets that would have been. Called where the
 * fabric's packets leave (send.c) and arrive (drain.c), with the queue pair's lock held and inside a
 * guard, while a capture is on.
 */
#ifndef HCA_LOCAL_CAPTURE_H
#define HCA_LOCAL_CAPTURE_H

#include "hca/transport/qp_types.h"

/* As send_packet() was given it. */
void local_capture_sent(struct qp *qp, const struct roce_pkt *pkt, const struct hca_list *list,
			uint64_t off);
/* As it is about to be handled; a datagram's GRH is not in the list any more. */
void local_capture_received(struct qp *qp, const struct roce_pkt *pkt, const struct hca_list *list,
			    const uint8_t *grh);

#endif
