/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory that is shared from the beginning.
 */
#ifndef FABRIC_SHARE_ALLOC_H
#define FABRIC_SHARE_ALLOC_H

#include <stddef.h>

/*
 * Zeroed memory; private where sharing is off. NULL: ENOMEM. share_range_get() works on it.
 * share_free() unmaps it, also while ranges in it are shared.
 */
void *share_alloc(size_t len);
/* Allocates memory of the device: shared with VERBENA_SHARE=off, too. */
void *share_alloc_device(size_t len);
void share_free(void *va);

#endif
