/* SPDX-License-Identifier: BSD-2-Clause */
/* A count of changes of the GID tables, for data paths that remember what they have looked up. */
#ifndef HCA_GID_CHANGES_H
#define HCA_GID_CHANGES_H

#include <stdatomic.h>
#include <stdint.h>

#include "hca/hca.h"

/* A lookup holds for as long as this stays the same. */
static inline uint32_t hca_gid_changes(void)
{
	return atomic_load_explicit(&hca.device.port.gid_changes, memory_order_relaxed);
}

#endif
