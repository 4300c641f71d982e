/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The load or store that a thread was stopped at, read from its instruction; for memory whose
 * accesses mean something. To be called in a signal handler: nothing here takes a lock.
 *
 * What compilers make of a plain access of up to 8 bytes is known, on x86-64: moves, with and
 * without extension, and comparisons with memory. Everything else is -EOPNOTSUPP, and so is
 * everything on other processors (ACCESS_KNOWN is 0).
 */
#ifndef UTIL_ACCESS_H
#define UTIL_ACCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#ifdef __x86_64__
#define ACCESS_KNOWN 1
#else
#define ACCESS_KNOWN 0
#endif

struct access {
	bool store;
	uint8_t size;   /* bytes: 1, 2, 4 or 8 */
	uint64_t value; /* that is stored, or compared with */
	uint8_t length; /* of the instruction */
	uint8_t kind;   /* of what becomes of a loaded value; access.c's */
	uint8_t reg;    /* where it goes */
	uint8_t reg_size;
	bool high; /* the second byte of the register */
	bool reversed;
};

int access_decode(const ucontext_t *at, struct access *out);

/* As if the instruction had been carried out; `loaded` is what a load found. */
void access_finish(ucontext_t *at, const struct access *access, uint64_t loaded);

#endif
