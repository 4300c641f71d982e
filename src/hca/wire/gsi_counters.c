/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/wire/gsi_counters.h"

#include "hca/hca.h"

_Static_assert(HCA_GSI_COUNTERS == WIRE_GSI_COUNTERS, "a counter each");

void gsi_count(enum hca_gsi_counter which)
{
	atomic_fetch_add_explicit(&hca.wire.gsi.counters[which], 1, memory_order_relaxed);
}

uint64_t hca_gsi_count(enum hca_gsi_counter which)
{
	return atomic_load_explicit(&hca.wire.gsi.counters[which], memory_order_relaxed);
}

const char *hca_gsi_counter_name(enum hca_gsi_counter which)
{
	static const char *const names[] = {
		[HCA_GSI_SENT] = "sent",
		[HCA_GSI_RECEIVED] = "received",
		[HCA_GSI_PASSED_ON] = "passed on to other processes",
		[HCA_GSI_DROP_QKEY] = "dropped: wrong Q_Key",
		[HCA_GSI_DROP_FORM] = "dropped: no MAD for a port of ours",
		[HCA_GSI_DROP_NO_AGENT] = "dropped: no process wants its class",
		[HCA_GSI_DROP_LOST] = "dropped: no room",
	};

	return names[which];
}
