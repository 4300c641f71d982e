/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Atomic operations on memory of this process, mapped memory of others included: compare and swap,
 * fetch and add, and their masked forms. Any thread; no lock.
 */
#ifndef HCA_ATOMIC_H
#define HCA_ATOMIC_H

#include <stdint.h>

#include "hca/device/work.h"

/* An unmasked operation (IBTA volume 1, 9.4.5), of 8 bytes. */
static inline struct hca_atomic hca_atomic_plain(bool add, uint64_t compare, uint64_t swap)
{
	return (struct hca_atomic){
		.add = add,
		.size = 8,
		.swap = swap,
		.compare = add ? 0 : compare,
		.swap_mask = UINT64_MAX,
		.compare_mask = UINT64_MAX,
	};
}

/* The target is aligned to the size. Returns the value before. */
uint64_t hca_atomic_run(const struct hca_atomic *a, void *target);

#endif
