/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The loops of vb_copy() for more than 64 bytes. All of them write upwards and leave up to 64 bytes
 * at the end to vb_copy_small(), which writes the last byte last.
 *
 * Loads run a block of 256 bytes ahead of the stores. A load waits for a store in flight whose address
 * agrees with its own in the low 12 bits; with a block in between hardly any does, at any distance
 * of source and destination.
 */
#include "util/copy.h"

#if defined(__x86_64__) && !VB_TSAN

#include <immintrin.h>

#define COPY_AVX2 __attribute__((target("avx2")))
#define COPY_L2   (512u << 10)
#define AHEAD     1024u
#define PAGE      4096u

COPY_AVX2 static inline __m256i load32(const uint8_t *s)
{
	return _mm256_loadu_si256((const __m256i *)(const void *)s);
}

COPY_AVX2 static inline void storeu32(uint8_t *d, __m256i v)
{
	_mm256_storeu_si256((__m256i *)(void *)d, v);
	vb_copy_order();
}

/* To 32-byte boundaries. */
COPY_AVX2 static inline void store32(uint8_t *d, __m256i v)
{
	_mm256_store_si256((__m256i *)(void *)d, v);
	vb_copy_order();
}

/* prefetchw: AMD since 2002, Intel since 2014; earlier processors ignore it. */
static inline void prefetch_to_write(const uint8_t *p)
{
	__asm__ volatile("prefetchw %0" : : "m"(*p));
}

struct block {
	__m256i a, b, c, d, e, f, g, h;
};

COPY_AVX2 static inline struct block load_block(const uint8_t *lo, const uint8_t *hi)
{
	return (struct block){ load32(lo), load32(lo + 32), load32(lo + 64), load32(lo + 96),
			       load32(hi), load32(hi + 32), load32(hi + 64), load32(hi + 96) };
}

/* d is 32-byte aligned. Copies blocks while more than one is left; returns how much. */
COPY_AVX2 static VB_COPY_INLINE size_t copy_blocks(uint8_t *d, const uint8_t *s, size_t n)
{
	size_t i = 0;

	for (; n - i > 256; i += 256) {
		struct block v = load_block(s + i, s + i + 128);

		store32(d + i, v.a);
		store32(d + i + 32, v.b);
		store32(d + i + 64, v.c);
		store32(d + i + 96, v.d);
		store32(d + i + 128, v.e);
		store32(d + i + 160, v.f);
		store32(d + i + 192, v.g);
		store32(d + i + 224, v.h);
	}
	return i;
}

/* copy_blocks() for lengths beyond the second-level cache: prefetches the lines to write. */
COPY_AVX2 static size_t copy_blocks_ahead(uint8_t *d, const uint8_t *s, size_t n)
{
	size_t i = 0;

	for (; n - i > AHEAD + 256; i += 256) {
		for (size_t line = 0; line < 256; line += 64)
			prefetch_to_write(d + i + AHEAD + line);
		copy_blocks(d + i, s + i, 257);
	}
	return i + copy_blocks(d + i, s + i, n - i);
}

COPY_AVX2 static inline void stream_two(uint8_t *lo, uint8_t *hi, struct block v)
{
	_mm256_stream_si256((__m256i *)(void *)lo, v.a);
	_mm256_stream_si256((__m256i *)(void *)(lo + 32), v.b);
	_mm256_stream_si256((__m256i *)(void *)(lo + 64), v.c);
	_mm256_stream_si256((__m256i *)(void *)(lo + 96), v.d);
	_mm256_stream_si256((__m256i *)(void *)hi, v.e);
	_mm256_stream_si256((__m256i *)(void *)(hi + 32), v.f);
	_mm256_stream_si256((__m256i *)(void *)(hi + 64), v.g);
	_mm256_stream_si256((__m256i *)(void *)(hi + 96), v.h);
}

/* Past the caches, and through four pages at once, which keeps more memory channels busy. */
COPY_AVX2 static size_t copy_stream(uint8_t *d, const uint8_t *s, size_t n)
{
	size_t i = 0;

	/* Half a line, streamed, is a read and a write of memory: whole lines only. */
	if ((uintptr_t)d & 32) {
		store32(d, load32(s));
		i = 32;
	}
	for (; n - i > 4 * PAGE; i += 4 * PAGE)
		for (size_t j = i; j < i + PAGE; j += 128) {
			stream_two(d + j, d + j + PAGE, load_block(s + j, s + j + PAGE));
			stream_two(d + j + 2 * PAGE, d + j + 3 * PAGE,
				   load_block(s + j + 2 * PAGE, s + j + 3 * PAGE));
		}
	/* [CP1] Streaming stores have no order of their own: all of them before the last byte. */
	_mm_sfence();
	return i + copy_blocks(d + i, s + i, n - i);
}

/* From 1 to 256 bytes, at any alignment; writes the last one last. */
COPY_AVX2 static inline void copy_end(uint8_t *d, const uint8_t *s, size_t n)
{
	size_t last = n >= 8 && !(((uintptr_t)d + n) & 7) ? 8 : 1, m = n - last;
	uint64_t word = last == 8 ? vb_load64(s + m) : s[m];

	/* The first and the last vectors of each size, which overlap in the middle. */
	if (m > 128) {
		struct block v = load_block(s, s + m - 128);

		storeu32(d, v.a);
		storeu32(d + 32, v.b);
		storeu32(d + 64, v.c);
		storeu32(d + 96, v.d);
		storeu32(d + m - 128, v.e);
		storeu32(d + m - 96, v.f);
		storeu32(d + m - 64, v.g);
		storeu32(d + m - 32, v.h);
	} else if (m > 64) {
		__m256i a = load32(s), b = load32(s + 32);
		__m256i y = load32(s + m - 64), z = load32(s + m - 32);

		storeu32(d, a);
		storeu32(d + 32, b);
		storeu32(d + m - 64, y);
		storeu32(d + m - 32, z);
	} else if (m > 32) {
		__m256i a = load32(s), z = load32(s + m - 32);

		storeu32(d, a);
		storeu32(d + m - 32, z);
	} else {
		vb_copy_body(d, s, m);
	}
	if (last == 8)
		vb_store64_last(d + m, word);
	else
		vb_store8_last(d + m, (uint8_t)word);
}

/* At a multiple of a cache line: where the loops lie makes a difference of a tenth for 16 KiB. */
__attribute__((aligned(64))) COPY_AVX2 static void copy_avx2(uint8_t *d, const uint8_t *s, size_t n)
{
	size_t head, i;

	if (n <= 256) {
		copy_end(d, s, n);
		return;
	}
	head = -(uintptr_t)d & 31;
	storeu32(d, load32(s));
	d += head;
	s += head;
	n -= head;
	if (n < COPY_L2)
		i = copy_blocks(d, s, n);
	else if (n < VB_COPY_STREAM)
		i = copy_blocks_ahead(d, s, n);
	else
		i = copy_stream(d, s, n);
	copy_end(d + i, s + i, n - i);
}

/* 16 bytes at a time: every x86-64 can. */
void vb_copy_sse2(void *dst, const void *src, size_t n)
{
	uint8_t *d = dst;
	const uint8_t *s = src;
	size_t head = -(uintptr_t)d & 15, i = 0;

	if (head) {
		vb_copy_body(d, s, 16);
		d += head;
		s += head;
		n -= head;
	}
	for (; n - i > 128; i += 64) {
		__m128i a = _mm_loadu_si128((const __m128i *)(const void *)(s + i));
		__m128i b = _mm_loadu_si128((const __m128i *)(const void *)(s + i + 16));
		__m128i c = _mm_loadu_si128((const __m128i *)(const void *)(s + i + 32));
		__m128i e = _mm_loadu_si128((const __m128i *)(const void *)(s + i + 48));

		_mm_store_si128((__m128i *)(void *)(d + i), a);
		vb_copy_order();
		_mm_store_si128((__m128i *)(void *)(d + i + 16), b);
		vb_copy_order();
		_mm_store_si128((__m128i *)(void *)(d + i + 32), c);
		vb_copy_order();
		_mm_store_si128((__m128i *)(void *)(d + i + 48), e);
		vb_copy_order();
	}
	for (; n - i > 64; i += 16)
		vb_copy_body(d + i, s + i, 16);
	vb_copy_small(d + i, s + i, n - i);
}

void vb_copy_large(void *dst, const void *src, size_t n)
{
	if (unlikely(n <= 64))
		vb_copy_small(dst, src, n);
	else if (likely(__builtin_cpu_supports("avx2")))
		copy_avx2(dst, src, n);
	else
		vb_copy_sse2(dst, src, n);
}

#else

void vb_copy_large(void *dst, const void *src, size_t n)
{
	size_t last = n < 64 ? n : 64, body = n - last;

#if VB_TSAN
	/* One load and one store at a time, which the sanitizer sees. */
	for (size_t i = 0; i < body; i++)
		((uint8_t *)dst)[i] = ((const uint8_t *)src)[i];
#else
	memcpy(dst, src, body);
#endif
	/* Its last store is a release, after all of the above. */
	vb_copy_small((uint8_t *)dst + body, (const uint8_t *)src + body, last);
}

#endif
