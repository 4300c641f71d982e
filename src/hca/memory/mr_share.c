/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/memory/mr_share.h"

#include <errno.h>
#include <unistd.h>

#include "fabric/epoch.h"
#include "fabric/share.h"
#include "hca/peers/grace.h"
#include "hca/peers/segment.h"

void mr_share_set_generation(uint32_t to)
{
	atomic_store(&hca.memory.share.generation, to);
	/* [SG1] pairs with hca_peer_map(): the pages, and the flags of entries, before the generation */
	if (hca.peers.segment)
		atomic_store_explicit(&hca.peers.segment->share_generation, to,
				      memory_order_release);
}

/* ---- stopped peers ---- */

static uintptr_t page_mask(void)
{
	return (uintptr_t)sysconf(_SC_PAGESIZE) - 1;
}

/* Lock held. */
static bool is_owed(uintptr_t start, uintptr_t end)
{
	bool found = false;

	epoch_enter();
	for (unsigned int i = hca.memory.share.debts; i--;) {
		struct mr_share_debt *d = &hca.memory.share.debt[i];

		if (open_section_is_over(&d->section))
			*d = hca.memory.share.debt[--hca.memory.share.debts];
		else
			found |= d->start < end && start < d->end;
	}
	epoch_exit();
	return found;
}

bool mr_share_owe(uintptr_t start, uintptr_t end, const struct open_section *open, size_t count)
{
	if (count > MR_SHARE_DEBTS - hca.memory.share.debts)
		return false;
	for (size_t i = 0; i < count; i++)
		hca.memory.share.debt[hca.memory.share.debts++] = (struct mr_share_debt){
			.start = start & ~page_mask(),
			.end = (end + page_mask()) & ~page_mask(),
			.section = open[i],
		};
	return true;
}

int mr_share_get(void *addr, uint64_t length)
{
	uintptr_t start = (uintptr_t)addr & ~page_mask();

	if (unlikely(hca.memory.share.debts) && is_owed(start, (uintptr_t)addr + length))
		return -EOPNOTSUPP;
	return share_range_get(addr, length);
}

void mr_share_skip(void)
{
	if (hca.peers.segment)
		atomic_fetch_add(&hca.peers.segment->skips, 1);
}

/* ---- claims ---- */

int mr_share_claim(void *addr, uint64_t length, uint32_t *out)
{
	int err = mr_share_is_suspended() ? 0 : mr_share_get(addr, length);

	if (!err)
		*out = mr_share_generation();
	return err;
}

void mr_share_release(void *addr, uint64_t length, uint32_t claimed)
{
	if (claimed == mr_share_generation() && !mr_share_is_suspended())
		share_range_put(addr, length);
}

bool mr_share_renew(void *addr, uint64_t length, uint32_t *claimed)
{
	return *claimed == mr_share_generation() || !mr_share_claim(addr, length, claimed);
}
