/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ports/<number>/counters and hw_counters of the facade: names, of which the latter are the driver's, and files
 * that follow the counters of the host directory while a program runs. All processes of the host add to a
 * counter. Its value is lost when the last of them has gone, but for runs that have seen it.
 */
#ifndef VERBENA_HW_COUNTERS_H
#define VERBENA_HW_COUNTERS_H

#include "facts.h"
#include "tree.h"

/* Writes the files of a port, all 0, and notes them for hw_counters_open(). */
void hw_counters_write(const struct tree_dir *port, const struct adapter_fact *fact, int number);

struct hw_counters;

/* Of the tree that was written; NULL: there is nothing to follow. */
struct hw_counters *hw_counters_open(struct tree *t);
/* Writes what has changed since the last time. */
void hw_counters_follow(struct hw_counters *c);
void hw_counters_close(struct hw_counters *c);

#endif
