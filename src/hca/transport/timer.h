/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Timers of queue pairs: acknowledgement timeouts, RNR delays and probes. A busy QP sets its timer once
 * and lets it expire: the expiry looks whether there was progress meanwhile, so sending and
 * receiving never touch it. Hence a timeout comes after one to two times what was asked, within the
 * bounds of IBTA volume 1, 9.9.2.1 (up to four times).
 */
#ifndef HCA_TIMER_H
#define HCA_TIMER_H

#include "hca/hca.h"
#include "hca/transport/qp_types.h"

/* Sets the acknowledgement timeout; answers count as progress from now on. Lock held. */
void timer_start(struct qp *qp, uint64_t at_ns);
/* Sends nothing for so long. Lock held. */
void timer_pause(struct qp *qp, uint64_t ns);
/* Ends a pause before its timer does. Lock held. */
static inline void timer_resume(struct qp *qp)
{
	qp->comp.rnr_until = 0;
}
/* No request waits any more: ends the timeout and a pause. Lock held. */
static inline void timer_stop(struct qp *qp)
{
	qp->comp.timeout_at = 0;
	qp->comp.rnr_until = 0;
}
/* Wakes the QP for a time that is noted elsewhere in it already. Lock held. */
void timer_wake(struct qp *qp, uint64_t at_ns);
/*
 * Calls `expire` for every QP whose time has come, its lock held, inside an epoch section. Returns when
 * to call again, UINT64_MAX: not before another timer is set. One thread at a time.
 */
uint64_t timer_run(uint64_t now_ns, void (*expire)(struct qp *qp, uint64_t now_ns));
/* The QP ends; its lock is not held. */
void timer_forget(struct qp *qp);
/* Memory for one more QP's timer, so that setting it cannot fail. */
int timer_reserve(void);
void timer_unreserve(void);

/* 4.096 us * 2^timeout (IBTA volume 1, 9.7.6.1.3); 0 for 0. */
uint64_t timer_ack_ns(uint8_t timeout);
/* IBTA volume 1, table 45. */
uint64_t timer_rnr_ns(uint8_t code);

#endif
