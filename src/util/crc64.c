/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ISA-L of Debian 12 does not have this polynomial. With carry-less multiplication four times 128
 * bits are folded over the data at a time; the rest, and other processors, take four bits a step.
 */
#include "util/crc64.h"

#include <endian.h>
#include <string.h>

#include "util/api.h"

/* The register after four zero bits, by its low four bits. */
static const uint64_t steps[16] = {
	0x0000000000000000, 0x78e0ff3b88be6f81, 0xf1c1fe77117cdf02, 0x8921014c99c2b083,
	0xd75adabd7a6e2d6f, 0xafba2586f2d042ee, 0x269b24ca6b12f26d, 0x5e7bdbf1e3ac9dec,
	0x9a6c9329ac4bc9b5, 0xe28c6c1224f5a634, 0x6bad6d5ebd3716b7, 0x134d926535897936,
	0x4d364994d625e4da, 0x35d6b6af5e9b8b5b, 0xbcf7b7e3c7593bd8, 0xc41748d84fe75459,
};

static uint64_t by_table(uint64_t crc, const uint8_t *p, size_t len)
{
	for (; len; len--, p++) {
		crc ^= *p;
		crc = crc >> 4 ^ steps[crc & 15];
		crc = crc >> 4 ^ steps[crc & 15];
	}
	return crc;
}

#ifdef __x86_64__
#include <immintrin.h>

#define CLMUL __attribute__((target("pclmul,sse4.1")))
#define LEAST 128 /* bytes for which folding pays */

/* x^(n+63) and x^(n-1) modulo the polynomial, reflected: moves 128 bits n bits further. */
#define BY_512 _mm_set_epi64x(0x62242240ace5045a, 0x0c32cdb31e18a84a)
#define BY_128 _mm_set_epi64x(0x21e9761e252621ac, (long long)0xeadc41fd2ba3d420)

CLMUL static inline __m128i load(const uint8_t *p)
{
	return _mm_loadu_si128((const __m128i *)(const void *)p);
}

CLMUL static inline __m128i fold(__m128i v, __m128i by, __m128i onto)
{
	return _mm_xor_si128(onto, _mm_xor_si128(_mm_clmulepi64_si128(v, by, 0x00),
						 _mm_clmulepi64_si128(v, by, 0x11)));
}

CLMUL static uint64_t by_folding(uint64_t crc, const uint8_t *p, size_t len)
{
	__m128i v[4];
	uint8_t rest[16];

	for (int i = 0; i < 4; i++)
		v[i] = load(p + i * 16);
	v[0] = _mm_xor_si128(v[0], _mm_cvtsi64_si128((long long)crc));
	for (p += 64, len -= 64; len >= 64; p += 64, len -= 64)
		for (int i = 0; i < 4; i++)
			v[i] = fold(v[i], BY_512, load(p + i * 16));
	for (int i = 1; i < 4; i++)
		v[i] = fold(v[i - 1], BY_128, v[i]);
	for (; len >= 16; p += 16, len -= 16)
		v[3] = fold(v[3], BY_128, load(p));
	_mm_storeu_si128((__m128i *)(void *)rest, v[3]);
	return by_table(by_table(0, rest, sizeof(rest)), p, len);
}
#endif

uint64_t crc64_xp10(uint64_t crc, const void *data, size_t len)
{
#ifdef __x86_64__
	if (likely(len >= LEAST && __builtin_cpu_supports("pclmul")))
		return by_folding(crc, data, len);
#endif
	return by_table(crc, data, len);
}
