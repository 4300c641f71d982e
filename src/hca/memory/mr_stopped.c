/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/memory/mr_stopped.h"

#include "fabric/epoch.h"
#include "fabric/share.h"
#include "hca/memory/mr_suspend.h"
#include "hca/peers/grace.h"

/* The key, or the count of skips, has changed. */
static void end_copies(const struct open_section *open, size_t count)
{
	if (count > MR_SHARE_DEBTS)
		epoch_wait_all();
	else if (count)
		grace_wait_copies(open, count);
}

void mr_stopped_wait(void)
{
	struct open_section open[MR_SHARE_DEBTS];
	size_t stopped = epoch_wait_running(open, MR_SHARE_DEBTS);

	if (stopped)
		mr_stopped_end_all(open, stopped);
}

void mr_stopped_end_all(const struct open_section *open, size_t count)
{
	if (mr_suspend_for_stopped(open, count))
		end_copies(open, count);
	else
		epoch_wait_all();
}

void mr_stopped_end(void *addr, uint64_t length, bool claimed, uint32_t claim)
{
	struct open_section open[MR_SHARE_DEBTS];
	size_t stopped = epoch_wait_running(open, MR_SHARE_DEBTS);
	uintptr_t start = (uintptr_t)addr;
	bool owed = true;

	if (stopped)
		mr_share_skip();
	pthread_mutex_lock(&hca.memory.share.lock);
	if (claimed)
		mr_share_release(addr, length, claim);
	/* Pages that another region keeps shared, or that are about to move, are a matter of all memory. */
	if (claimed && stopped)
		owed = claim == mr_share_generation() && !mr_share_is_suspended() &&
		       !share_touches(addr, length) &&
		       mr_share_owe(start, start + length, open, stopped);
	pthread_mutex_unlock(&hca.memory.share.lock);
	if (!owed)
		mr_stopped_end_all(open, stopped);
	else
		end_copies(open, stopped);
}
