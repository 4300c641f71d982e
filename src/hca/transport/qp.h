/* SPDX-License-Identifier: BSD-2-Clause */
/* Queue pairs: calls of drivers. */
#ifndef HCA_QP_H
#define HCA_QP_H

#include "hca/transport/hca_qp.h"

VB_API int hca_qp_create(const struct hca_qp_init *init, struct hca_qp **out);
/* -EBUSY while multicast groups or flows hold it. After it returns nothing touches rings or CQs. */
VB_API int hca_qp_destroy(struct hca_qp *qp);
VB_API void hca_qp_query(struct hca_qp *qp, struct hca_qp_attr *out);

VB_API void hca_qp_progress(struct hca_qp *qp, struct hca_qp_progress *out);
/*
 * From which UDP port the packets of a connection leave. -EOPNOTSUPP unless it is RC or UC, ready to
 * send, and on Ethernet; -EADDRINUSE and the like when the host has given the port to others.
 */
VB_API int hca_qp_set_udp_sport(struct hca_qp *qp, uint16_t port);

/* Whether packets of the peer may arrive in any order. */
VB_API void hca_qp_set_out_of_order(struct hca_qp *qp, bool allowed);
/* Its requests wait for a while, as behind an RNR NAK; nothing while they do so already. */
VB_API void hca_qp_pause(struct hca_qp *qp, uint64_t ns);
/* The QP counts in this set from now on, and holds a reference; NULL: in none. */
VB_API void hca_qp_set_counters(struct hca_qp *qp, struct hca_counters *counters);
/* The QP takes a reference to the shaper and drops the one before; NULL: none. */
struct hca_shaper;
VB_API void hca_qp_set_shaper(struct hca_qp *qp, struct hca_shaper *shaper);

VB_API void hca_qp_listen(struct hca_qp *qp, struct hca_listener *l);
/* Events that the handle has not fetched are dropped. */
VB_API void hca_qp_unlisten(struct hca_qp *qp, struct hca_listener *l);

/* The element of later events; events about the old one that were not fetched are dropped. */
void hca_qp_set_user(struct hca_qp *qp, void *user);

#endif
