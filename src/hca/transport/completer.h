/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers to requests, and the lack of them; see completer.c. Lock held, inside an epoch section. */
#ifndef HCA_COMPLETER_H
#define HCA_COMPLETER_H

#include "hca/transport/qp_types.h"

void completer_packet(struct qp *qp, const struct roce_pkt *pkt, const struct hca_list *payload);
/* A timer of the QP has expired. */
void completer_timeout(struct qp *qp, uint64_t now_ns);
/* Requests are sent from now on, the first with `psn`. */
void completer_start(struct qp *qp, uint32_t psn);
void completer_reset(struct qp *qp);

#endif
