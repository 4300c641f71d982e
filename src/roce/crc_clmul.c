/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A message is a sum of 64-bit words, each multiplied by a power of x that depends on its position. Each
 * power is taken modulo the CRC polynomial, so the products, and their sum, have at most 95 bits; three
 * more multiplications reduce the sum to 32.
 *
 * Polynomials are stored with the highest power in the lowest bit, the order in which the CRC takes bits.
 * The product of an m-bit and an n-bit number then has m + n - 1 bits, that is, it is one power of x too
 * high when read as m + n bits; the powers below are one lower to compensate.
 */
#include "roce/crc_clmul.h"

#ifdef __x86_64__

#include <string.h>
#include <wmmintrin.h>

/* The CRC polynomial, and the quotient of x^64 by it; both have 33 bits. */
#define POLY_33     0x1db710641
#define QUOTIENT_33 0x1f7011641

/* power[n] is x^(64 * n + 31) modulo the polynomial. */
static const uint64_t power[ROCE_CRC_CLMUL_MAX / 8] = {
	0x00000001, 0xccaa009e, 0xae689191, 0x81256527,
	0xf1da05aa, 0xaf449247, 0x3db1ecdc, 0x1d9513d7,
};
/* x^63 modulo the polynomial. */
static const uint64_t power_63 = 0xb8bc6765;

bool roce_crc_clmul_supported(void)
{
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

CLMUL uint32_t roce_crc_clmul(uint32_t crc, const uint8_t *data, size_t len)
{
	uint64_t word = 0;
	__m128i sum, part;

	/* The first word has 32 bits when the number of 32-bit words is odd. */
	if (len & 4) {
		memcpy((char *)&word + 4, data, 4);
		word ^= (uint64_t)~crc << 32;
		data += 4;
	} else {
		memcpy(&word, data, 8);
		word ^= ~crc;
		data += 8;
	}
	len = (len - 1) / 8;
	sum = times(_mm_cvtsi64_si128((long long)word), power[len]);
	for (; len--; data += 8)
		sum = _mm_xor_si128(sum, times(_mm_loadl_epi64((const __m128i *)data), power[len]));
	/* Reduce 95 bits to 64, and these to 32 by Barrett's method. */
	sum = _mm_xor_si128(_mm_srli_si128(sum, 4), times(low_32(sum), power_63));
	part = low_32(times(low_32(sum), QUOTIENT_33));
	sum = _mm_xor_si128(sum, times(part, POLY_33));
	return ~(uint32_t)((uint64_t)_mm_cvtsi128_si64(sum) >> 32);
}

#else

bool roce_crc_clmul_supported(void)
{
	return false;
}

uint32_t roce_crc_clmul(uint32_t crc, const uint8_t *data, size_t len)
{
	__builtin_unreachable();
}

#endif
