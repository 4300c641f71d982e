/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages to a tag matching receive queue; see tag_recv.c. Lock held, inside an epoch section. */
#ifndef HCA_TAG_RECV_H
#define HCA_TAG_RECV_H

#include "hca/transport/fault.h"

/* The first packet of a message: finds its buffer. */
enum fault tag_recv_begin(struct qp *qp, const struct roce_pkt *pkt, const struct hca_list *payload,
			  bool only);
/* Puts the packet's data where it belongs. */
enum fault tag_recv_place(struct qp *qp, const struct roce_pkt *pkt, const struct hca_list *payload,
			  bool first, enum hca_status *status);
/* The message is whole: completes its buffer; the caller has filled in what the last packet says. */
void tag_recv_finish(struct qp *qp, struct hca_cqe *cqe);

#endif
