/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fork is told of when the process ends: around it, locks that a report needs are taken (forksafe.h).
 */
#include "check/fork.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "check/report.h"
#include "check/state.h"
#include "verbs/fork.h"

static void prepare(void)
{
	const struct check_place *expected = NULL;
	unsigned int regions = atomic_load(&check.region_count);

	if (!regions || verbena_fork_is_prepared() || atomic_load(&check.forked_at))
		return;
	if (atomic_compare_exchange_strong(&check.forked_at, &expected, check_place_here()))
		atomic_store(&check.forked_regions, regions);
}

/* The child has registered nothing. */
static void forget(void)
{
	atomic_store(&check.region_count, 0);
	atomic_store(&check.forked_at, NULL);
}

void check_fork_open(void)
{
	if (getenv("RDMAV_FORK_SAFE") || getenv("IBV_FORK_SAFE"))
		return;
	pthread_atfork(prepare, NULL, forget);
}

void check_fork_tell(void)
{
	struct check_report r = { .kind = CHECK_FORK_UNPREPARED,
				  .stacks[0] = { "forked at", atomic_load(&check.forked_at) } };
	unsigned int regions = atomic_load(&check.forked_regions);

	if (!r.stacks[0].place)
		return;
	snprintf(r.text, sizeof(r.text),
		 "The program forks with %u memory region%s registered, and has not called "
		 "ibv_fork_init().",
		 regions, regions == 1 ? "" : "s");
	check_report(&r);
}
