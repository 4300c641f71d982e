/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/memory/mw_share.h"

#include "hca/hca.h"
#include "hca/memory/key.h"
#include "hca/memory/mw_types.h"

static void set_shared(uint32_t index, bool shared)
{
	uint32_t *flags = &hca_key_entry(index)->flags;

	/* [SG3] */
	if (shared)
		__atomic_fetch_or(flags, (uint32_t)HCA_MR_SHARED, __ATOMIC_RELEASE);
	else
		__atomic_fetch_and(flags, ~(uint32_t)HCA_MR_SHARED, __ATOMIC_RELAXED);
}

void mw_share_set(const struct hca_mr *mr, bool shared)
{
	/* A window that is bound at this moment may stay without the flag. */
	if (shared && !atomic_load(&mr->windows))
		return;
	pthread_mutex_lock(&hca.memory.mw.lock);
	for (uint32_t i = 0; i < HCA_TABLE_HALF; i++) {
		_Atomic(void *) *leaf = atomic_load(&hca.memory.mw.table.top[i]);

		for (uint32_t k = 0; leaf && k < HCA_TABLE_HALF; k++) {
			const struct hca_mw *mw = atomic_load(&leaf[k]);

			if (mw && mw->mr == mr)
				set_shared(mw->index, shared);
		}
	}
	pthread_mutex_unlock(&hca.memory.mw.lock);
}
