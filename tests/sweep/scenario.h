/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the sweeps run: every transport between queue pairs of one process and to another process that is
 * killed, and most calls of the libraries. A call may fail, and the scenario does without its object. It
 * does not forgive a destruction that fails, or a request that was accepted and does not complete.
 */
#ifndef TESTS_SCENARIO_H
#define TESTS_SCENARIO_H

#include <stdbool.h>

struct far_end;

/* Starts the process to talk to. Before anything is opened. */
struct far_end *far_end_start(void);

/* Runs once; with `strict`, no call may fail. The number of problems, each of which was printed. */
int scenario_run(struct far_end *far, bool strict);

#endif
