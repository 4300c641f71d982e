/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A dump of the process's queues to standard error, when it is asked for: by a signal (VERBENA_DUMP_ON), or when
 * nothing moves for so many seconds while something is awaited (VERBENA_DUMP_AFTER).
 */
#ifndef HCA_DUMP_H
#define HCA_DUMP_H

#include <stdint.h>

/* Reads the variables; after the process has joined the fabric. */
void dump_start(void);
/* In the child of a fork. */
void dump_forked(void);
/* On the service thread; returns when to call again at the latest. */
uint64_t dump_run(uint64_t now_ns);

#endif
