/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/device/presence.h"

#include "hca/hca.h"

bool hca_adapter_is_present(const struct hca_adapter *a)
{
	return !(atomic_load_explicit(&hca.device.presence.absent, memory_order_relaxed) >>
			 a->index &
		 1);
}

uint32_t hca_presence_changes(void)
{
	return atomic_load(&hca.device.presence.changes);
}

void hca_presence_set(const struct hca_adapter *a, bool present)
{
	uint32_t bit = 1u << a->index, before;

	if (present)
		before = ~atomic_fetch_and(&hca.device.presence.absent, ~bit);
	else
		before = atomic_fetch_or(&hca.device.presence.absent, bit);
	if (before & bit)
		return;
	atomic_fetch_add(&hca.device.presence.changes, 1);
	atomic_fetch_add(&hca.device.changes, 1);
	hca_wake_at(hca_now_ns());
}
