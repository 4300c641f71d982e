/* SPDX-License-Identifier: BSD-2-Clause */
#include "check/thread.h"

#include <stdio.h>

#include "check/buffer.h"
#include "check/report.h"

bool check_td_enter(struct vb_td *td, const struct check_place *place)
{
	struct check_report r = { .kind = CHECK_TD_TWO_THREADS,
				  .stacks[0] = { "called at", place } };
	int other = 0, self = check_thread();

	if (atomic_compare_exchange_strong(&td->watch, &other, self))
		return true;
	if (other == self)
		return false;
	snprintf(r.text, sizeof(r.text),
		 "A thread uses a queue of a thread domain while another thread (%d) uses one of "
		 "it.",
		 other);
	check_report(&r);
	return false;
}
