/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/device/core_clock.h"

#include <time.h>

uint64_t hca_core_clock(const struct hca_adapter *a)
{
	struct timespec now;
	uint64_t ns;

	clock_gettime(CLOCK_MONOTONIC, &now);
	ns = now.tv_sec * 1000000000ull + now.tv_nsec;
	if (a->model->core_clock_khz == 1000000)
		return ns;
	return (unsigned __int128)ns * a->model->core_clock_khz / 1000000;
}
