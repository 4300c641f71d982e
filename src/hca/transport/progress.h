/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Progress of a connection: what files below the completer tell it. Lock held, inside an epoch section.
 */
#ifndef HCA_PROGRESS_H
#define HCA_PROGRESS_H

#include "hca/transport/probe.h"
#include "hca/transport/qp_types.h"

/* Requests are numbered from `psn` on; none waits for an answer. */
static inline void progress_start(struct completer *c, uint32_t psn)
{
	c->una = psn;
}

/* The path that a request waited for is there, or was found not to exist. */
static inline void progress_path_known(struct completer *c, bool exists)
{
	c->progress = true;
	if (exists)
		c->retries = 0;
}

/* An answer completed a request, or brought data: timeouts and retries start anew. */
static inline void progress_made(struct completer *c)
{
	c->progress = true;
	c->retries = 0;
	c->rnr_retries = 0;
	c->stale_timeouts = 0;
	probe_answered(c);
}

#endif
