/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For old programs only: the 64-bit byte swaps that <endian.h> now has. The memory barriers
 * that once were here are gone.
 */
#ifndef INFINIBAND_ARCH_H
#define INFINIBAND_ARCH_H

#include <endian.h>
#include <stdint.h>

#warning "<infiniband/arch.h> is obsolete: use <endian.h>"

#ifndef ntohll
#undef htonll

static inline __attribute__((deprecated)) uint64_t htonll(uint64_t x)
{
	return htobe64(x);
}

static inline __attribute__((deprecated)) uint64_t ntohll(uint64_t x)
{
	return be64toh(x);
}

/* so that a program's own #ifndef sees them */
#define htonll htonll
#define ntohll ntohll
#endif

#endif /* INFINIBAND_ARCH_H */
