/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists of queue pairs that owe an acknowledgement; see acks.c. */
#ifndef HCA_ACKS_H
#define HCA_ACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "hca/peers/ack_list.h"

struct hca_peer;

/* Sends all that are due. Inside an epoch section. */
void acks_send(struct hca_acks *acks);
/* At the end of a drain: sends those that are due, except delayed ones. */
void acks_settle(struct hca_acks *acks, bool is_service_thread);
/* The QP is being destroyed. */
void acks_forget(struct hca_peer *peer, struct qp *qp);

/* Sends delayed acknowledgements that no request has taken along in time. Service thread; returns when
 * to call again. */
uint64_t acks_timers(uint64_t now_ns);

#endif
