/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/inspect_enabled.h"

_Atomic uint32_t roce_inspect_enabled_count;

void roce_inspect_flag_set(struct roce_inspect_flag *f, bool on)
{
	if (atomic_exchange(&f->on, on) != on)
		atomic_fetch_add(&roce_inspect_enabled_count, on ? 1 : -1);
}
