/* SPDX-License-Identifier: BSD-2-Clause */
/* Guards: the part of a block signature that is calculated from the data (T10 SBC-3, 4.22). */
#ifndef HCA_GUARD_H
#define HCA_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hca/device/signature.h"

struct guard {
	uint64_t value;
	uint8_t kind; /* enum hca_sig_kind */
	bool odd;     /* checksum: an odd number of bytes was added */
};

void guard_start(struct guard *g, enum hca_sig_kind kind, bool ones);
void guard_add(struct guard *g, const void *data, size_t len);
/* Adds the data, and copies it. */
void guard_add_copy(struct guard *g, void *to, const void *data, size_t len);
/* The guard of the data added so far: 16, 32 or 64 bits. */
uint64_t guard_value(const struct guard *g);

/* The state between two pieces of data, as a signature context holds it (psv.h). */
uint64_t guard_save(const struct guard *g);
void guard_load(struct guard *g, enum hca_sig_kind kind, uint64_t saved);

#endif
