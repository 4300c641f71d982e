/* SPDX-License-Identifier: BSD-2-Clause */
/* The adapter's clock, which timestamps of completions show. */
#ifndef HCA_CORE_CLOCK_H
#define HCA_CORE_CLOCK_H

#include <stdint.h>

#include "hca/device/adapter.h"

/* In ticks of the model's core clock. */
VB_API uint64_t hca_core_clock(const struct hca_adapter *a);

#endif
