/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests of connected queue pairs become packets; see send.c. Lock held, inside an epoch section. */
#ifndef HCA_SEND_H
#define HCA_SEND_H

#include "hca/transport/qp_types.h"
#include "hca/transport/run_result.h"

/* Sends the request at `next`; `reachable` false: its packets are lost, and the timer will tell. */
enum run_result send_connected(struct qp *qp, struct hca_send *s, bool reachable);

/* How many reads and atomics the other end takes at a time. */
uint32_t send_reads_most(const struct qp *qp);
/* The length of the pieces in which a read is asked for. */
uint32_t send_read_piece(const struct qp *qp);

#endif
