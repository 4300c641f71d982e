/* SPDX-License-Identifier: BSD-2-Clause */
/* Probes of a requester on a lossy wire: see probe.c. Lock held. */
#ifndef HCA_PROBE_H
#define HCA_PROBE_H

#include "hca/transport/qp_types.h"

/* Something was lost. */
void probe_lost(struct qp *qp);
/* ... and nothing was heard for a whole timeout. */
void probe_expired(struct qp *qp);
/* On a connection that loses: something has been sent that is to be answered. */
void probe_begin(struct qp *qp);
/* ... and this packet's round trip may be measured. */
void probe_time(struct requester *r, uint32_t psn);
/* Its answer may have come. */
void probe_measure(struct requester *r);
/* The other end has got on. */
static inline void probe_answered(struct requester *r)
{
	struct probe *p = &r->probe;

	p->moves++;
	p->silent = 0;
	p->gone = false;
	p->out = false;
	if (unlikely(p->timed_at))
		probe_measure(r);
}
/* From the timer. True: silence has lasted for long, and the oldest packet is to be sent again. */
bool probe_is_due(struct qp *qp, uint64_t now_ns);
/* Waits for an answer, or for the next probe. */
void probe_arm(struct qp *qp, uint64_t now_ns);

#endif
