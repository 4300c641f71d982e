/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What looks at the wire or spoils it, for this process: capture (VERBENA_CAPTURE) and faults
 * (VERBENA_FAULT, VERBENA_FAULT_SEED). One of each, always there and mostly off.
 */
#ifndef HCA_TAPS_H
#define HCA_TAPS_H

#include "hca/transport/qp_types.h"
#include "roce/inspect.h"

/* For endpoints; set up by the first call. */
const struct roce_inspect *inspect_get(void);

/* -errno when it could not be set up as asked: a run without its faults would prove nothing. */
int inspect_check(void);

/*
 * An order to the running process: "capture" with a file, "fault" with rules or a file; "" leaves
 * things as the environment had them, or ends what was ordered before. A mistake is noted.
 */
void inspect_set(const char *key, const char *value);

/* Traffic on the host shall take the wire, where it can be captured and spoilt. */
bool inspect_want_wire(void);

/* Whether faults were ever asked for; some may be under way after their end. One load, as the next. */
extern _Atomic bool inspect_faults_asked;

static inline bool inspect_may_spoil(void)
{
	return unlikely(atomic_load_explicit(&inspect_faults_asked, memory_order_relaxed));
}

static inline bool inspect_spoil(void)
{
	return inspect_may_spoil() && inspect_get()->fault && roce_fault_on(inspect_get()->fault);
}

/* What a capture says about a packet of this QP, whose lock is held. */
void inspect_describe(const struct qp *qp, const struct roce_pkt *pkt, bool out, char *text,
		      size_t size);

/* Whose packet this thread is about to send, for the capture's comments; NULL: nobody's. */
extern _Thread_local const struct qp *inspect_sender __attribute__((tls_model("initial-exec")));

/* Around a fork, as the innermost locks. */
void inspect_fork_prepare(void);
void inspect_fork_done(void);

#endif
