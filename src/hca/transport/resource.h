/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads, atomics, atomic writes and flushes of the peer; see resource.c. Lock held, inside an epoch section. */
#ifndef HCA_RESOURCE_H
#define HCA_RESOURCE_H

#include "hca/transport/fault.h"

/* A request with the expected PSN: the answer goes out as soon as there is room. */
enum fault resource_read(struct qp *qp, const struct roce_pkt *pkt);
enum fault resource_atomic(struct qp *qp, const struct roce_pkt *pkt);
enum fault resource_masked_atomic(struct qp *qp, const struct roce_pkt *pkt,
				  const struct hca_list *payload);
enum fault resource_atomic_write(struct qp *qp, const struct roce_pkt *pkt,
				 const struct hca_list *payload);
enum fault resource_flush(struct qp *qp, const struct roce_pkt *pkt);
/* A duplicate of one of these. */
void resource_again(struct qp *qp, const struct roce_pkt *pkt);
/* Sends answers as far as there is room; false when some are left. */
bool resource_send(struct qp *qp);
/* Sends what is due, as far as there is room: answers to reads and atomics, then acknowledgements. */
void resource_continue(struct qp *qp);
void resource_reset(struct qp *qp);

#endif
