/* SPDX-License-Identifier: BSD-2-Clause */
/* Probes of a connection that loses packets: see probe.c. Lock held. */
#ifndef HCA_PROBE_H
#define HCA_PROBE_H

#include "hca/transport/qp_types.h"

/* A packet was lost. */
void probe_lost(struct qp *qp);
/* A timeout expired without an answer. */
void probe_expired(struct qp *qp);
/* On a lossy connection: a packet was sent that is to be answered. */
void probe_begin(struct qp *qp);
/* The round trip of this packet is measured, if no other is. */
void probe_time(struct completer *c, uint32_t psn);
/* Packets are sent again: an answer says nothing about the round trip (Karn). */
static inline void probe_untime(struct completer *c)
{
	c->probe.rtt_sent_ns = 0;
}
/* An answer came: the measured packet may be acknowledged. */
void probe_measure(struct completer *c);
/* An answer acknowledged something new. */
static inline void probe_answered(struct completer *c)
{
	struct probe *p = &c->probe;

	p->acks++;
	p->unanswered = 0;
	p->never_answered = false;
	p->outstanding = false;
	if (unlikely(p->rtt_sent_ns))
		probe_measure(c);
}
/* From the timer. True: the oldest packet is to be sent again. */
bool probe_is_due(struct qp *qp, uint64_t now_ns);
/* Sets the timer of the next probe. */
void probe_arm(struct qp *qp, uint64_t now_ns);

#endif
