/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists of queue pairs that owe an acknowledgement; see acks.c. */
#ifndef HCA_ACKS_H
#define HCA_ACKS_H

#include <stdint.h>

struct hca_peer;
struct qp;

/* QPs whose acknowledgement waits until everything that has arrived is handled. */
struct hca_acks {
	struct qp *qp[16];
	unsigned int count;
};

/* Sends what is due. Inside an epoch section. */
void acks_send(struct hca_acks *acks);
/* The same at the end of a drain, where some may be left for a reply to take along. */
void acks_settle(struct hca_acks *acks);
/* A queue pair goes. */
void acks_forget(struct hca_peer *peer, struct qp *qp);

/* Sends what no reply has taken along in time. Service thread; returns when to call again. */
uint64_t acks_timers(uint64_t now_ns);
void acks_forked(void);

#endif
