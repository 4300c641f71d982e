/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fault injection: a script of rules, judged packet by packet, the same way every time for one seed
 * and one sequence of packets.
 *
 *	drop p=0.01; dup every=100; corrupt opcode=SEND_ONLY nth=3; delay us=50 p=0.1 dir=out
 *
 * Rules are separated by `;` or newlines; `#` starts a comment. An action comes first:
 *
 *	drop            the packet is lost
 *	dup             it arrives twice
 *	corrupt         one bit is flipped, which one by chance or as bit=N says
 *	delay us=N      it leaves (or is delivered) N microseconds late (or ms=N)
 *	reorder         it trades places with the next packet, or is 1 ms late when none comes
 *	rnr [timer=N]   the responder acts as if it had no receive entry
 *	nak code=C      the responder refuses: seq, invalid, access or op
 *	pass            nothing, and no later rule looks at it
 *
 * Then conditions, all of which must hold:
 *
 *	dir=in|out      else both (rnr and nak only concern what comes in)
 *	opcode=NAME     RC_SEND_ONLY, or SEND_ONLY of any transport, or a number
 *	psn=A[-B]       packet sequence numbers
 *	qp=N            destination QP number
 *	sqp=N           source QP number, where the packet tells
 *	peer=ADDRESS    the other host
 *	after=N         not the first N packets that met the conditions so far
 *	from_ms=N to_ms=N  time since the script was loaded: from_ms=100 to_ms=300 is a link down
 *	nth=N           only the Nth that met them
 *	every=N         each Nth of them
 *	p=X             with probability X: 0.01 or 1%
 *	count=N         fires at most N times
 *	again=yes       see below
 *
 * nth, every and p pick from packets that come for the first time, or once more because a fault has
 * lost them. Others come again when it took too long, as time will have it: with again=yes they are
 * picked from, too, and two runs may differ.
 *
 * The first rule that fires decides. Own lock inside; any thread.
 */
#ifndef ROCE_FAULT_H
#define ROCE_FAULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "roce/addr.h"
#include "roce/packet.h"
#include "roce/switch.h"

enum roce_fault_action {
	ROCE_FAULT_NONE,
	ROCE_FAULT_DROP,
	ROCE_FAULT_DUP,
	ROCE_FAULT_CORRUPT,
	ROCE_FAULT_DELAY,
	ROCE_FAULT_REORDER,
	ROCE_FAULT_RNR,
	ROCE_FAULT_NAK,
	ROCE_FAULT_PASS,
};

enum roce_dir {
	ROCE_DIR_IN = 1,
	ROCE_DIR_OUT = 2,
};

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
 * Replaces the rules (none for an empty script) and starts all counts anew. -EINVAL with a sentence
 * that names the character and what was wrong; the old rules then stay.
 */
int roce_fault_load(struct roce_fault *f, const char *script, uint64_t seed, uint64_t now_ns);

/* The queue pair begins anew: its next packets come for the first time, whatever their numbers. */
void roce_fault_forget(struct roce_fault *f, uint32_t qpn);

/* For fork: held around it, nobody is inside. */
void roce_fault_lock(struct roce_fault *f);
void roce_fault_unlock(struct roce_fault *f);

/* Whether there is any rule; cheap. */
static inline bool roce_fault_on(const struct roce_fault *f)
{
	return roce_switch_on((const struct roce_switch *)f);
}

/* For packets on the wire; never RNR or NAK. `peer` may be NULL. */
struct roce_verdict roce_fault_judge(struct roce_fault *f, enum roce_dir dir,
				     const struct roce_pkt *pkt, const struct roce_addr *peer,
				     uint64_t now_ns);
/* For the responder, once per request that it would accept: NONE, RNR or NAK. */
struct roce_verdict roce_fault_judge_request(struct roce_fault *f, const struct roce_pkt *pkt,
					     const struct roce_addr *peer, uint64_t now_ns);

struct roce_fired {
	uint64_t at_ns; /* as given to judge */
	uint32_t rule;  /* from 0 */
	enum roce_fault_action action;
	enum roce_dir dir;
	uint8_t op;
	uint32_t qpn;
	uint32_t psn;
	/* What is the same in every run: which packet of which connection, and how often before. */
	uint32_t connection; /* from 1; 0: there were too many */
	uint32_t packet;
	uint32_t times;
};

/* How often rule `rule` fired; its text (valid until the next load). False past the last one. */
bool roce_fault_rule(struct roce_fault *f, uint32_t rule, const char **text, uint64_t *fired);
/* The newest `max` faults that fired, oldest first; returns how many. 1024 are kept. */
size_t roce_fault_list(struct roce_fault *f, struct roce_fired *out, size_t max);

const char *roce_fault_action_name(enum roce_fault_action action);

#endif
