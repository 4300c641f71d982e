/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The store at which a thread got a signal, with its address, for pages where a store rings. Beside what access.h
 * decodes, these are the moves of vector registers with which memcpy() fills such a page. Called in a signal handler.
 */
#ifndef UTIL_ACCESS_STORE_H
#define UTIL_ACCESS_STORE_H

#include <stdint.h>
#include <ucontext.h>

#ifdef __x86_64__
#define ACCESS_STORE_KNOWN 1
#else
#define ACCESS_STORE_KNOWN 0
#endif

struct access_store {
	uintptr_t address;
	uint32_t size;  /* bytes */
	uint8_t length; /* of the instruction */
	uint64_t first; /* the bytes stored, at most eight, as in memory */
};

/* Where the kernel saves vector registers 16 to 31 (x86-64): for access_store_decode(); 0: not at all. */
uint32_t access_store_upper_vectors(void);

/* -EOPNOTSUPP: another instruction, or, on processors other than x86-64, any. */
int access_store_decode(const ucontext_t *at, uint32_t upper_vectors, struct access_store *out);

/* The instruction has been carried out. */
void access_store_finish(ucontext_t *at, const struct access_store *store);

#endif
