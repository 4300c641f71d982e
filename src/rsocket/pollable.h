/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One rsocket in a poll: what it is ready for, and what to sleep on until that changes.
 */
#ifndef RSOCKET_POLLABLE_H
#define RSOCKET_POLLABLE_H

#include <stdbool.h>

#include "rsocket/table.h"
#include "rsocket/wake.h"

struct rs_pollable {
	struct rs_entry *entry; /* NULL: an ordinary descriptor */
	struct rs_sleeper sleeper;
	bool listed; /* the sleeper is in the socket's list */
};

/* The events that are there. With `arm`, others make wait_fd readable from now on (-1: no need). */
short rs_pollable_check(struct rs_pollable *p, short events, bool arm, int *wait_fd);
/* wait_fd was readable: takes what made it so. */
void rs_pollable_take(struct rs_pollable *p);
/* Puts the poll into the socket's list of sleepers, and out of it. */
void rs_pollable_enlist(struct rs_pollable *p, int wake_fd);
void rs_pollable_delist(struct rs_pollable *p);

#endif
