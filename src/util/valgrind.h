/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Requests to valgrind: instructions without an effect, which it recognises when it runs the program. So the
 * libraries need neither its headers nor a build of their own. Other processors' programs are never under valgrind
 * as far as this header knows.
 */
#ifndef UTIL_VALGRIND_H
#define UTIL_VALGRIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Numbers of requests; those of memcheck begin with its initials. */
#define VALGRIND_IS_RUNNING  0x1001u
#define MEMCHECK_REQUEST(n)  ((uintptr_t)'M' << 24 | (uintptr_t)'C' << 16 | (n))
#define MEMCHECK_FORBID      MEMCHECK_REQUEST(0)  /* no access is allowed */
#define MEMCHECK_ALLOW       MEMCHECK_REQUEST(2)  /* accesses are allowed, and bytes have a value */
#define MEMCHECK_MAKE_FILLED MEMCHECK_REQUEST(11) /* bytes that may be accessed have a value */

/* The answer; 0 without valgrind, or if its tool does not know the request. */
static inline uintptr_t valgrind_request(uintptr_t number, uintptr_t a, uintptr_t b)
{
	uintptr_t args[6] = { number, a, b };
	uintptr_t answer = 0;

#if defined(__x86_64__)
	__asm__ volatile("rol $3, %%rdi\n\trol $13, %%rdi\n\t"
			 "rol $61, %%rdi\n\trol $51, %%rdi\n\t"
			 "xchg %%rbx, %%rbx"
			 : "+d"(answer)
			 : "a"(args)
			 : "cc", "memory");
#elif defined(__aarch64__)
	register uintptr_t *block __asm__("x4") = args;
	register uintptr_t result __asm__("x3") = 0;

	__asm__ volatile("ror x12, x12, #3\n\tror x12, x12, #13\n\t"
			 "ror x12, x12, #51\n\tror x12, x12, #61\n\t"
			 "orr x10, x10, x10"
			 : "+r"(result)
			 : "r"(block)
			 : "cc", "memory");
	answer = result;
#else
	(void)args;
#endif
	return answer;
}

static inline bool valgrind_is_running(void)
{
	return valgrind_request(VALGRIND_IS_RUNNING, 0, 0) != 0;
}

/* Memcheck does not see what other processes write: it would take the bytes for uninitialised ones. */
static inline void valgrind_mark_filled(void *start, size_t len)
{
	valgrind_request(MEMCHECK_MAKE_FILLED, (uintptr_t)start, len);
}

/*
 * Memcheck's search for leaks would touch, and so allocate, every page of a sparse table. It leaves out what may not
 * be accessed: entries are marked before they are used.
 */
static inline void valgrind_mark_unused(void *start, size_t len)
{
	valgrind_request(MEMCHECK_FORBID, (uintptr_t)start, len);
}

static inline void valgrind_mark_used(void *start, size_t len)
{
	valgrind_request(MEMCHECK_ALLOW, (uintptr_t)start, len);
}

#endif
