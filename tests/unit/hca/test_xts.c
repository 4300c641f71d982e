/* SPDX-License-Identifier: BSD-2-Clause */
/* AES-XTS against the vectors of IEEE 1619-2007, Annex B, and AES key wrap against RFC 3394. */
#include "cmocka_all.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "hca/memory/key_wrap.h"
#include "hca/memory/xts.h"

static size_t hex(const char *text, uint8_t *out)
{
	size_t n = 0;

	for (; *text; text += 2, n++) {
		const char byte[] = { text[0], text[1], 0 };

		out[n] = (uint8_t)strtoul(byte, NULL, 16);
	}
	return n;
}

static struct xts_key *key_of(const char *one, const char *two)
{
	uint8_t bytes[64];
	size_t n = hex(one, bytes);
	struct xts_key *key;

	n += hex(two, bytes + n);
	assert_int_equal(xts_key_create(bytes, n, &key), 0);
	return key;
}

#define PI_E_128 "27182818284590452353602874713526", "31415926535897932384626433832795"
#define PI_E_256                                                                                   \
	"2718281828459045235360287471352662497757247093699959574966967627",                        \
		"3141592653589793238462643383279502884197169399375105820974944592"

/* A vector's plaintext is bytes that count up, or all 0x44. */
static const struct {
	const char *one, *two, *tweak;
	size_t len;
	int fill;           /* -1: counts up */
	const char *cipher; /* the first bytes of the ciphertext */
} vectors[] = {
	/* 2, 3 */
	{ "11111111111111111111111111111111", "22222222222222222222222222222222", "3333333333", 32,
	  0x44, "c454185e6a16936e39334038acef838bfb186fff7480adc4289382ecd6d394f0" },
	{ "fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0", "22222222222222222222222222222222", "3333333333", 32,
	  0x44, "af85336b597afc1a900b2eb21ec949d292df4c047e0b21532186a5971a227a89" },
	/* 4 */
	{ PI_E_128, "00", 512, -1,
	  "27a7479befa1d476489f308cd4cfa6e2a96e4bbe3208ff25287dd3819616e89c" },
	/* 10 */
	{ PI_E_256, "ff", 512, -1,
	  "1c3b3a102f770386e4836c99e370cf9bea00803f5e482357a4ae12d414a3e63b" },
	/* 15, 18: ciphertext stealing */
	{ "fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0", "bfbebdbcbbbab9b8b7b6b5b4b3b2b1b0", "9a78563412", 17,
	  -1, "6c1625db4671522d3d7599601de7ca09ed" },
	{ "fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0", "bfbebdbcbbbab9b8b7b6b5b4b3b2b1b0", "9a78563412", 20,
	  -1, "9d84c813f719aa2c7be3f66171c7c5c2edbf9dac" },
};

static void plain_of(int fill, uint8_t *out, size_t len)
{
	for (size_t i = 0; i < len; i++)
		out[i] = (uint8_t)(fill < 0 ? i : (size_t)fill);
}

static void vectors_are_encrypted_and_decrypted(void **state)
{
	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		struct xts_key *key = key_of(vectors[i].one, vectors[i].two);
		struct xts_run run = { .encrypt = true, .unit = (uint32_t)vectors[i].len };
		uint8_t plain[512], out[512], expected[512];
		size_t n = hex(vectors[i].cipher, expected);

		hex(vectors[i].tweak, run.tweak);
		plain_of(vectors[i].fill, plain, vectors[i].len);
		assert_true(xts_crypt(key, &run, plain, out, vectors[i].len));
		assert_memory_equal(out, expected, n);
		run.encrypt = false;
		assert_true(xts_crypt(key, &run, out, out, vectors[i].len));
		assert_memory_equal(out, plain, vectors[i].len);
		xts_key_destroy(key);
	}
}

#define RUN 4160u

/* Units one by one, as a reference. */
static void encrypt_units(struct xts_key *key, const uint8_t tweak[16], uint32_t unit,
			  const uint8_t *in, uint8_t *out, size_t len)
{
	struct xts_run run = { .encrypt = true, .unit = unit };

	memcpy(run.tweak, tweak, sizeof(run.tweak));
	for (size_t n, at = 0; at < len; at += n) {
		n = len - at < unit ? len - at : unit;
		assert_true(xts_crypt(key, &run, in + at, out + at, n));
		xts_tweak_add(run.tweak, 1);
	}
}

static void each_further_unit_has_the_next_tweak(void **state)
{
	static const uint8_t tweak[16] = { 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 7 };
	struct xts_run run = { .encrypt = true, .unit = 520 };
	struct xts_key *key = key_of(PI_E_256);
	uint8_t plain[RUN], expected[RUN], out[RUN];

	plain_of(-1, plain, sizeof(plain));
	encrypt_units(key, tweak, 520, plain, expected, sizeof(plain));
	memcpy(run.tweak, tweak, sizeof(tweak));
	assert_true(xts_crypt(key, &run, plain, out, sizeof(out)));
	assert_memory_equal(out, expected, sizeof(out));
	xts_key_destroy(key);
}

static void tweaks_are_numbers_of_128_bits(void **state)
{
	uint8_t tweak[16] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
	static const uint8_t sum[16] = { 0xff, [9] = 1 }, zero[16];

	xts_tweak_add(tweak, 0x100);
	assert_memory_equal(tweak, sum, sizeof(sum));
	memset(tweak, 0xff, sizeof(tweak));
	xts_tweak_add(tweak, 1);
	assert_memory_equal(tweak, zero, sizeof(zero));
}

/* A part that begins at any block is what the whole run has there. */
static void a_run_may_begin_at_any_block(void **state)
{
	static const uint8_t tweak[16] = { 1, 2, 3 };
	struct xts_key *key = key_of(PI_E_128);
	uint8_t plain[RUN], whole[RUN], out[RUN];

	plain_of(-1, plain, sizeof(plain));
	encrypt_units(key, tweak, 4096, plain, whole, sizeof(plain));
	for (uint32_t skip = 0; skip < 4096; skip += XTS_BLOCK) {
		struct xts_run run = { .encrypt = true, .unit = 4096, .skip = skip };

		memcpy(run.tweak, tweak, sizeof(tweak));
		assert_true(xts_crypt(key, &run, plain + skip, out, sizeof(out) - skip));
		assert_memory_equal(out, whole + skip, sizeof(out) - skip);
		run.encrypt = false;
		assert_true(xts_crypt(key, &run, out, out, sizeof(out) - skip));
		assert_memory_equal(out, plain + skip, sizeof(out) - skip);
	}
	xts_key_destroy(key);
}

static void a_unit_of_a_mebibyte_may_be_cut(void **state)
{
	static const uint32_t size = 1u << 20;
	static const uint8_t tweak[16] = { 9 };
	struct xts_run run = { .encrypt = true, .unit = size, .skip = size - 64 };
	struct xts_key *key = key_of(PI_E_128);
	uint8_t *plain = malloc(size), *whole = malloc(size), out[64];

	plain_of(-1, plain, size);
	encrypt_units(key, tweak, size, plain, whole, size);
	memcpy(run.tweak, tweak, sizeof(tweak));
	assert_true(xts_crypt(key, &run, plain + run.skip, out, sizeof(out)));
	assert_memory_equal(out, whole + run.skip, sizeof(out));
	xts_key_destroy(key);
	free(plain);
	free(whole);
}

/* Vector 1, whose keys are the same. */
static void both_keys_may_be_the_same(void **state)
{
	struct xts_key *key =
		key_of("00000000000000000000000000000000", "00000000000000000000000000000000");
	struct xts_run run = { .encrypt = true, .unit = 32 };
	uint8_t plain[64] = { 0 }, out[64], expected[32];

	hex("917cf69ebd68b2ec9b9fe9a3eadda692cd43d2f59598ed858c02c2652fbf922e", expected);
	assert_true(xts_crypt(key, &run, plain, out, sizeof(out)));
	assert_memory_equal(out, expected, sizeof(expected));
	assert_memory_not_equal(out + 32, expected, sizeof(expected));
	run.skip = 16;
	assert_true(xts_crypt(key, &run, plain, out, 16));
	assert_memory_equal(out, expected + 16, 16);
	run.skip = 0;
	run.encrypt = false;
	assert_true(xts_crypt(key, &run, expected, out, sizeof(expected)));
	assert_memory_equal(out, plain, sizeof(expected));
	xts_key_destroy(key);
}

static void *encrypt_often(void *arg)
{
	struct xts_key *key = arg;
	static const uint8_t tweak[16] = { 5 };
	uint8_t plain[1024], expected[1024], out[1024];

	plain_of(0x44, plain, sizeof(plain));
	encrypt_units(key, tweak, 512, plain, expected, sizeof(plain));
	for (int i = 0; i < 200; i++) {
		encrypt_units(key, tweak, 512, plain, out, sizeof(out));
		if (memcmp(out, expected, sizeof(out)))
			return key;
	}
	return NULL;
}

static void threads_share_a_key(void **state)
{
	struct xts_key *key = key_of(PI_E_128);
	pthread_t thread[8];

	for (int i = 0; i < 8; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, encrypt_often, key), 0);
	for (int i = 0; i < 8; i++) {
		void *failed;

		assert_int_equal(pthread_join(thread[i], &failed), 0);
		assert_null(failed);
	}
	xts_key_destroy(key);
}

/* RFC 3394 4.1 and 4.6. */
static void wrapped_keys_are_unwrapped(void **state)
{
	uint8_t kek[32], wrapped[40], plain[32], expected[32];

	hex("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f", kek);
	hex("00112233445566778899aabbccddeeff000102030405060708090a0b0c0d0e0f", expected);
	hex("1fa68b0a8112b447aef34bd8fb5a7b829d3e862371d2cfe5", wrapped);
	assert_int_equal(key_unwrap(kek, 16, wrapped, 24, plain), 0);
	assert_memory_equal(plain, expected, 16);
	hex("28c9f404c4b810f4cbccb35cfb87f8263f5786e2d80ed326cbc7f0e71a99f43bfb988b9b7a02dd21",
	    wrapped);
	assert_int_equal(key_unwrap(kek, 32, wrapped, 40, plain), 0);
	assert_memory_equal(plain, expected, 32);
}

static void a_key_that_another_one_wrapped_is_refused(void **state)
{
	uint8_t kek[16] = { 1 }, wrapped[24], plain[16] = { 0x55 };

	hex("1fa68b0a8112b447aef34bd8fb5a7b829d3e862371d2cfe5", wrapped);
	assert_int_equal(key_unwrap(kek, 16, wrapped, 24, plain), -EINVAL);
	assert_int_equal(plain[0], 0x55);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vectors_are_encrypted_and_decrypted),
		cmocka_unit_test(each_further_unit_has_the_next_tweak),
		cmocka_unit_test(tweaks_are_numbers_of_128_bits),
		cmocka_unit_test(a_run_may_begin_at_any_block),
		cmocka_unit_test(a_unit_of_a_mebibyte_may_be_cut),
		cmocka_unit_test(both_keys_may_be_the_same),
		cmocka_unit_test(threads_share_a_key),
		cmocka_unit_test(wrapped_keys_are_unwrapped),
		cmocka_unit_test(a_key_that_another_one_wrapped_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
