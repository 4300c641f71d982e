/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copies data as the DMA engine of an adapter would:
 *
 * - The last byte is written last: a program that polls it then reads all other bytes. The store of
 *   the last byte never straddles a cache line, because the halves of such a store may become
 *   visible in any order.
 * - On x86 the other bytes become visible in ascending order, too, up to VB_COPY_STREAM bytes; in
 *   longer copies only the last byte is ordered after the rest.
 * - A naturally aligned copy of 1, 2, 4 or 8 bytes is one store.
 * - No relative alignment of source and destination is slow, as some are with libc's memcpy.
 *
 * Where source and destination overlap, the contents of the destination are undefined.
 * No lock, no allocation; any thread.
 */
#ifndef UTIL_COPY_H
#define UTIL_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "util/api.h"

/* From here on stores bypass the caches where that is faster. */
#define VB_COPY_STREAM (64u << 20)

/* The thread sanitizer sees the order of a release store only through a load of the same address. */
#define VB_COPY_BYTE_ENDS VB_TSAN

/* Inlined into loops of wider vectors, they are compiled for these, too. */
#define VB_COPY_INLINE inline __attribute__((always_inline))

/* Any n. */
VB_API void vb_copy_large(void *dst, const void *src, size_t n);

#if defined(__x86_64__) && !VB_TSAN
/* The loop for processors without AVX2, for more than 64 bytes. */
void vb_copy_sse2(void *dst, const void *src, size_t n);
#endif

/* Keeps the compiler from moving or merging stores; x86 itself keeps their order. */
#define vb_copy_order() __asm__ volatile("" ::: "memory")

#define VB_COPY_WORD(bits)                                                                         \
	static inline uint##bits##_t vb_load##bits(const uint8_t *p)                               \
	{                                                                                          \
		uint##bits##_t v;                                                                  \
                                                                                                   \
		memcpy(&v, p, sizeof(v));                                                          \
		return v;                                                                          \
	}                                                                                          \
	static inline void vb_store##bits(uint8_t *p, uint##bits##_t v)                            \
	{                                                                                          \
		memcpy(p, &v, sizeof(v));                                                          \
		vb_copy_order();                                                                   \
	}                                                                                          \
	/* [CP1] pairs with the program's load of the last byte: all bytes before the last */      \
	static inline void vb_store##bits##_last(uint8_t *p, uint##bits##_t v)                     \
	{                                                                                          \
		__atomic_store_n((uint##bits##_t *)(void *)p, v, __ATOMIC_RELEASE);                \
	}

VB_COPY_WORD(8)
VB_COPY_WORD(16)
VB_COPY_WORD(32)
VB_COPY_WORD(64)

#if defined(__x86_64__) && !VB_TSAN

typedef long long vb_copy16_t __attribute__((vector_size(16), aligned(1), may_alias));

/* Up to 63 bytes, in no special order at the end. Loads first, then stores upwards. */
static VB_COPY_INLINE void vb_copy_body(uint8_t *d, const uint8_t *s, size_t n)
{
	if (n >= 16) {
		vb_copy16_t a = *(const vb_copy16_t *)s;
		vb_copy16_t z = *(const vb_copy16_t *)(s + n - 16);

		if (n > 32) {
			vb_copy16_t b = *(const vb_copy16_t *)(s + 16);
			vb_copy16_t y = *(const vb_copy16_t *)(s + n - 32);

			*(vb_copy16_t *)d = a;
			vb_copy_order();
			*(vb_copy16_t *)(d + 16) = b;
			vb_copy_order();
			*(vb_copy16_t *)(d + n - 32) = y;
		} else {
			*(vb_copy16_t *)d = a;
		}
		vb_copy_order();
		*(vb_copy16_t *)(d + n - 16) = z;
		vb_copy_order();
	} else if (n >= 8) {
		uint64_t a = vb_load64(s), z = vb_load64(s + n - 8);

		vb_store64(d, a);
		vb_store64(d + n - 8, z);
	} else if (n >= 4) {
		uint32_t a = vb_load32(s), z = vb_load32(s + n - 4);

		vb_store32(d, a);
		vb_store32(d + n - 4, z);
	} else if (n >= 2) {
		uint16_t a = vb_load16(s), z = vb_load16(s + n - 2);

		vb_store16(d, a);
		vb_store16(d + n - 2, z);
	} else if (n) {
		vb_store8(d, *s);
	}
}

#else

static VB_COPY_INLINE void vb_copy_body(uint8_t *d, const uint8_t *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		d[i] = s[i];
}

#endif

/* At most 64 bytes. */
static VB_COPY_INLINE void vb_copy_small(uint8_t *d, const uint8_t *s, size_t n)
{
	uintptr_t end = (uintptr_t)d + n;

	if (n >= 8 && !(end & 7) && (n == 8 || !VB_COPY_BYTE_ENDS)) {
		uint64_t last = vb_load64(s + n - 8);

		if (n > 8)
			vb_copy_body(d, s, n - 8);
		vb_store64_last(d + n - 8, last);
	} else if (n == 4 && !(end & 3)) {
		vb_store32_last(d, vb_load32(s));
	} else if (n == 2 && !(end & 1)) {
		vb_store16_last(d, vb_load16(s));
	} else if (n) {
		uint8_t last = s[n - 1];

		vb_copy_body(d, s, n - 1);
		vb_store8_last(d + n - 1, last);
	}
}

static inline void vb_copy(void *dst, const void *src, size_t n)
{
	if (likely(n <= 64))
		vb_copy_small(dst, src, n);
	else
		vb_copy_large(dst, src, n);
}

#endif
