/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A message is a sum of pieces of 64 bits, each times a power of x that its place decides. That power
 * is taken modulo the polynomial, so products have 95 bits, and so has their sum; three more products
 * bring it down to 32.
 *
 * Polynomials are numbers with their highest power in the lowest bit, as the CRC takes bits. Two of m
 * and n bits then have a product of m + n - 1, which reads as one of m + n bits that is multiplied by x:
 * the powers below make up for it by one less.
 */
#include "roce/fold.h"

#ifdef __x86_64__

#include <string.h>
#include <wmmintrin.h>

#define POLY 0xedb88320u
/* The polynomial, and what x^64 divided by it is; both have 33 bits. */
#define POLY_33     0x1db710641
#define QUOTIENT_33 0x1f7011641

/* x^(64 * n + 31) */
static uint64_t power[ROCE_FOLD_MOST / 8];
static uint64_t power_63;

bool roce_fold_init(void)
{
	uint32_t p = 0x80000000u;

	for (unsigned int n = 0; n < 64 * (ROCE_FOLD_MOST / 8); n++) {
		if (n % 64 == 31)
			power[n / 64] = p;
		if (n == 63)
			power_63 = p;
		p = p >> 1 ^ (POLY & -(p & 1));
	}
	return __builtin_cpu_supports("pclmul");
}

#define CLMUL __attribute__((target("pclmul")))

CLMUL static inline __m128i times(__m128i a, uint64_t b)
{
	return _mm_clmulepi64_si128(a, _mm_cvtsi64_si128((long long)b), 0);
}

CLMUL static inline __m128i low_32(__m128i a)
{
	return _mm_and_si128(a, _mm_cvtsi64_si128(0xffffffff));
}

CLMUL uint32_t roce_fold_crc32(uint32_t crc, const uint8_t *data, size_t len)
{
	uint64_t piece = 0;
	__m128i sum, part;

	/* The first piece has one word or two. */
	if (len & 4) {
		memcpy((char *)&piece + 4, data, 4);
		piece ^= (uint64_t)~crc << 32;
		data += 4;
	} else {
		memcpy(&piece, data, 8);
		piece ^= ~crc;
		data += 8;
	}
	len = (len - 1) / 8;
	sum = times(_mm_cvtsi64_si128((long long)piece), power[len]);
	for (; len--; data += 8)
		sum = _mm_xor_si128(sum, times(_mm_loadl_epi64((const __m128i *)data), power[len]));
	/* 95 bits to 64, and these to 32 by division. */
	sum = _mm_xor_si128(_mm_srli_si128(sum, 4), times(low_32(sum), power_63));
	part = low_32(times(low_32(sum), QUOTIENT_33));
	sum = _mm_xor_si128(sum, times(part, POLY_33));
	return ~(uint32_t)((uint64_t)_mm_cvtsi128_si64(sum) >> 32);
}

#else

bool roce_fold_init(void)
{
	return false;
}

uint32_t roce_fold_crc32(uint32_t crc, const uint8_t *data, size_t len)
{
	__builtin_unreachable();
}

#endif
