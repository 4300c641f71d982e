/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Doorbell records: big-endian words in memory with a producer or consumer index. Programs that
 * write rings themselves store them at any time.
 */
#ifndef DRIVER_RECORD_H
#define DRIVER_RECORD_H

#include <endian.h>
#include <stdint.h>

/* [DRV1] pairs with drv_record_load(): ring entries before the index that hands them over */
static inline void drv_record_store(volatile uint32_t *record, uint32_t value)
{
	__atomic_store_n(record, htobe32(value), __ATOMIC_RELEASE);
}

/* [DRV1] pairs with drv_record_store() and with programs' own stores */
static inline uint32_t drv_record_load(const volatile uint32_t *record)
{
	return be32toh(__atomic_load_n(record, __ATOMIC_ACQUIRE));
}

#endif
