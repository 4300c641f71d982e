/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fault injection: a script of rules is applied packet by packet. One seed and one sequence of packets
 * always give the same faults.
 *
 *	drop p=0.01; dup every=100; corrupt opcode=SEND_ONLY nth=3; delay us=50 p=0.1 dir=out
 *
 * Rules are separated by `;` or newlines; `#` starts a comment. An action comes first:
 *
 *	drop            the packet is lost
 *	dup             it arrives twice
 *	corrupt         one bit is flipped: a random one, or bit=N
 *	delay us=N      it leaves (or is delivered) N microseconds late (or ms=N)
 *	reorder         it is swapped with the next packet, or is 1 ms late when none comes
 *	rnr [timer=N]   the responder acts as if it had no receive WQE
 *	nak code=C      the responder refuses: seq, invalid, access or op
 *	pass            nothing, and no later rule is applied
 *
 * Conditions follow, all of which must hold:
 *
 *	dir=in|out      default: both (rnr and nak: received packets only)
 *	opcode=NAME     RC_SEND_ONLY, or SEND_ONLY of any transport, or a number
 *	psn=A[-B]       packet sequence numbers
 *	qp=N            destination QP number
 *	sqp=N           source QP number, in packets that carry it
 *	peer=ADDRESS    the other host
 *	after=N         not the first N packets that meet the conditions
 *	from_ms=N to_ms=N  time since the script was loaded: from_ms=100 to_ms=300 is a link down
 *	nth=N           only the Nth packet that meets them
 *	every=N         each Nth packet that meets them
 *	p=X             with probability X: 0.01 or 1%
 *	count=N         fires at most N times
 *	again=yes       see below
 *
 * nth, every and p apply to packets that are sent for the first time, or again because a fault lost them.
 * Packets that are sent again because of a timeout are left out, since two runs differ in them; again=yes
 * includes them.
 *
 * The first rule that fires decides. Own lock inside; any thread.
 */
#ifndef ROCE_FAULT_H
#define ROCE_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "roce/addr.h"
#include "roce/fault_types.h"
#include "roce/inspect_enabled.h"
#include "roce/packet.h"

struct roce_verdict {
	enum roce_fault_action action;
	uint32_t bit;      /* CORRUPT: modulo the bits of the packet */
	uint64_t delay_ns; /* DELAY, REORDER */
	uint8_t syndrome;  /* RNR, NAK: for the AETH */
};

struct roce_fault;

int roce_fault_create(struct roce_fault **out);
void roce_fault_destroy(struct roce_fault *f);

/*
 * Replaces the rules (an empty script has none) and resets all counts. -EINVAL, with an explanation that
 * names the character and the error; the old rules stay then.
 */
int roce_fault_load(struct roce_fault *f, const char *script, uint64_t seed, uint64_t now_ns);

/* The QP was reset: its next packets are new ones, whatever their PSNs. */
void roce_fault_reset_qp(struct roce_fault *f, uint32_t qpn);

/* Held around fork(). */
void roce_fault_lock(struct roce_fault *f);
void roce_fault_unlock(struct roce_fault *f);

/* Whether there is any rule. One load. */
static inline bool roce_fault_on(const struct roce_fault *f)
{
	return roce_inspect_flag_on((const struct roce_inspect_flag *)f);
}

/* For packets that are sent or received; never RNR or NAK. `peer` may be NULL. */
struct roce_verdict roce_fault_judge(struct roce_fault *f, enum roce_dir dir,
				     const struct roce_pkt *pkt, const struct roce_addr *peer,
				     uint64_t now_ns);
/* For the responder, once per request that it accepts: NONE, RNR or NAK. */
struct roce_verdict roce_fault_judge_request(struct roce_fault *f, const struct roce_pkt *pkt,
					     const struct roce_addr *peer, uint64_t now_ns);

struct roce_fired {
	uint64_t at_ns; /* now_ns of the call that fired it */
	uint32_t rule;  /* from 0 */
	enum roce_fault_action action;
	enum roce_dir dir;
	uint8_t op;
	uint32_t qpn;
	uint32_t psn;
	/* The packet's identity, equal in every run (pkt_id.h). */
	uint32_t connection; /* from 1; 0: too many connections */
	uint32_t packet;
	uint32_t times;
};

/* Text (valid until the next load) and number of faults of rule `rule`. False past the last rule. */
bool roce_fault_rule(struct roce_fault *f, uint32_t rule, const char **text, uint64_t *fired);
/* Copies the newest faults, at most `max` and 1024, oldest first; returns how many. */
size_t roce_fault_list(struct roce_fault *f, struct roce_fired *out, size_t max);

#endif
