/* SPDX-License-Identifier: BSD-2-Clause */
/* The bytes that a slice may have; see work.h. */
#ifndef TESTS_SIM_SLICE_H
#define TESTS_SIM_SLICE_H

#include "sim/sim.h"

/* The last writer from `from` on that has certainly run; *base is false if there is one. */
unsigned int slice_first_writer(const struct slice *s, unsigned int from, bool *base);
/* Fails unless each byte is one of the base, if that may be, or of a writer from `first` on. */
void slice_match(const struct slice *s, const uint8_t *bytes, unsigned int first, bool base,
		 const char *what, const struct work *by);

#endif
