/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/switch.h"

_Atomic uint32_t roce_switches_on;

void roce_switch_set(struct roce_switch *s, bool on)
{
	if (atomic_exchange(&s->on, on) != on)
		atomic_fetch_add(&roce_switches_on, on ? 1 : -1);
}
