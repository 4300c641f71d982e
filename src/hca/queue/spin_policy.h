/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether there is a processor to spare: a thread that spins is the fastest there is where it has a
 * core of its own, and where it has not, takes time from the program that it works for.
 *
 * For the service thread alone.
 */
#ifndef HCA_SPARE_H
#define HCA_SPARE_H

#include <stdbool.h>
#include <stdint.h>

struct spin_phase {
	uint64_t began_ns, cpu_ns;
};

/* May the caller spin? Cheap; the answer is some milliseconds old at most. */
bool spin_any(uint64_t now_ns);
/* Around some spinning; false at the end when others had to wait for it. */
void spin_begin(struct spin_phase *stint, uint64_t now_ns);
bool spin_end(const struct spin_phase *stint, uint64_t now_ns);
void spin_forked(void);

#endif
