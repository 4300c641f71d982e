/* SPDX-License-Identifier: BSD-2-Clause */
/* Probes of a requester on a lossy wire: see probe.c. Lock held. */
#ifndef HCA_PROBE_H
#define HCA_PROBE_H

#include "hca/qp_priv.h"

/* Something was lost. */
void probe_lost(struct qp *qp);
/* On a connection that loses: something has been sent that is to be answered. */
void probe_begin(struct qp *qp);
/* ... and this packet's round trip may be measured. */
void probe_time(struct requester *r, uint32_t psn);
/* The other end has got on. */
void probe_answered(struct requester *r);
/* From the timer. */
void probe_timeout(struct qp *qp, uint64_t now_ns);

#endif
