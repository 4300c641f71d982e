/* SPDX-License-Identifier: BSD-2-Clause */
#include "mlx5/clock.h"

#include <time.h>

#include "hca/device/core_clock.h"

/* Precise enough for every core clock; half the range of 64 bits still lasts hours. */
#define CLOCK_SHIFT 21

void mlx5_clock_read(const struct hca_adapter *adapter, struct mlx5dv_clock_info *out)
{
	struct timespec now;

	out->last_cycles = hca_core_clock(adapter);
	clock_gettime(CLOCK_REALTIME, &now);
	out->nsec = (uint64_t)now.tv_sec * 1000000000ull + now.tv_nsec;
	out->frac = 0;
	out->shift = CLOCK_SHIFT;
	out->mult = (1000000ull << CLOCK_SHIFT) / adapter->model->core_clock_khz;
	out->mask = MLX5_CLOCK_MASK;
}
