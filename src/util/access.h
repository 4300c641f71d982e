/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Emulates the load or store at which a thread got a signal, for memory whose accesses have side
 * effects. Called in a signal handler: nothing here takes a lock.
 *
 * It decodes the instructions that compilers generate for a plain access of up to 8 bytes: on x86-64 moves, with and
 * without extension, and comparisons with memory; on arm64 loads and stores of one general register, those with
 * acquire and release included. Other instructions are -EOPNOTSUPP, and so are all on other processors (ACCESS_KNOWN
 * is 0).
 */
#ifndef UTIL_ACCESS_H
#define UTIL_ACCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#if defined(__x86_64__) || defined(__aarch64__)
#define ACCESS_KNOWN 1
#else
#define ACCESS_KNOWN 0
#endif

struct access {
	bool store;
	uint8_t size;   /* bytes: 1, 2, 4 or 8 */
	uint64_t value; /* to store, or to compare with */
	uint8_t length; /* of the instruction */
	uint8_t kind;   /* enum kind of access.c */
	uint8_t reg;    /* target of a load */
	uint8_t reg_size;
	bool high; /* x86-64: the second byte of the register */
	bool reversed;
	uint8_t base; /* arm64: register that the instruction changes by `step` */
	int16_t step;
};

int access_decode(const ucontext_t *at, struct access *out);

/* Completes the instruction: registers, flags, instruction pointer. `loaded`: for a load. */
void access_finish(ucontext_t *at, const struct access *access, uint64_t loaded);

#endif
