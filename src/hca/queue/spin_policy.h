/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decides whether the service thread may spin: it serves fastest where it has a core of its own, and
 * where it has not, takes time from the program that it works for. Service thread only.
 */
#ifndef HCA_SPIN_POLICY_H
#define HCA_SPIN_POLICY_H

#include <stdbool.h>
#include <stdint.h>

struct spin_phase {
	uint64_t began_ns, cpu_ns;
};

/* Whether the caller may spin. Cheap; the answer is up to 20 ms old. */
bool spin_any(uint64_t now_ns);
/* Around a phase of spinning; spin_end() is false when other threads had to wait for it. */
void spin_begin(struct spin_phase *phase, uint64_t now_ns);
bool spin_end(const struct spin_phase *phase, uint64_t now_ns);

/*
 * Any thread: no more threads run than there are processors. One that waits by spinning, in the program or here, keeps no
 * other from running then.
 */
bool spin_is_room(uint64_t now_ns);
/* From now on the answer is true. */
void spin_assume_room(void);

void spin_policy_forked(void);

#endif
