/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/memory/atomic.h"

/*
 * Sums of fields: the uppermost bit of a field is added without its carry. Carries of the bits
 * below reach it, and go no further, since the bit is zero in both numbers.
 */
static uint64_t add_fields(uint64_t a, uint64_t b, uint64_t last_bits)
{
	return ((a & ~last_bits) + (b & ~last_bits)) ^ ((a ^ b) & last_bits);
}

/* The value that replaces `old`; false: it stays. */
static bool replace(const struct hca_atomic *a, uint64_t old, uint64_t *next)
{
	uint64_t differ;

	if (a->add) {
		*next = add_fields(old, a->swap, a->compare);
		return true;
	}
	*next = (old & ~a->swap_mask) | (a->swap & a->swap_mask);
	differ = (old ^ a->compare) & a->compare_mask;
	return a->size == 4 ? !(uint32_t)differ : !differ;
}

/*
 * A compare and swap begins with the value that it compares with, so that an unmasked one takes a
 * single instruction.
 */
static uint64_t run_8(const struct hca_atomic *a, uint64_t *target)
{
	uint64_t next, old = a->add ? __atomic_load_n(target, __ATOMIC_RELAXED)
				    : a->compare & a->compare_mask;

	while (replace(a, old, &next) &&
	       !__atomic_compare_exchange_n(target, &old, next, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_SEQ_CST))
		;
	return old;
}

static uint64_t run_4(const struct hca_atomic *a, uint32_t *target)
{
	uint32_t old = a->add ? __atomic_load_n(target, __ATOMIC_RELAXED)
			      : (uint32_t)(a->compare & a->compare_mask);
	uint64_t next;

	while (replace(a, old, &next) &&
	       !__atomic_compare_exchange_n(target, &old, (uint32_t)next, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_SEQ_CST))
		;
	return old;
}

uint64_t hca_atomic_run(const struct hca_atomic *a, void *target)
{
	if (a->size == 4)
		return run_4(a, target);
	if (a->add && !a->compare)
		return __atomic_fetch_add((uint64_t *)target, a->swap, __ATOMIC_SEQ_CST);
	return run_8(a, target);
}
