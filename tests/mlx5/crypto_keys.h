/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Adapters that encrypt, and keys for them: mlx5_0 imports keys in plaintext, mlx5_1 wrapped, mlx5_2
 * does not encrypt. What is wrapped was wrapped by `openssl enc -id-aes256-wrap` (-id-aes128-wrap by KEK_2).
 */
#ifndef TESTS_MLX5_CRYPTO_KEYS_H
#define TESTS_MLX5_CRYPTO_KEYS_H

#include <stdint.h>
#include <stdlib.h>

#define KEK "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define CREDENTIAL                                                                                 \
	"404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f6061626364656667"

#define CRYPTO_ADAPTERS                                                                            \
	"mlx5_0,model=ConnectX-6;mlx5_1,model=ConnectX-6-Dx,crypto_kek=" KEK                       \
	",crypto_credential=" CREDENTIAL ";mlx5_2,model=ConnectX-"                                 \
	"5"

#define CREDENTIAL_WRAPPED                                                                         \
	"65c35aafc43a5da93b72d918231bee701849ebc3daebf98a6075649350a66820"                         \
	"31cf0e74ce1ad2b853189f046eac84c9"
/* Another one: bytes from 0x80 on. */
#define CREDENTIAL_2_WRAPPED                                                                       \
	"8b7177c36fefdd57aeccdcc49d8b90f4a9db4810e75e67f61d26145732f0a4f3"                         \
	"f691300372e0592c3bd44390cee8b1d9"
/* A KEK of 128 bits, bytes from 0xf0 on; and the first credential and DEK_128, wrapped by it. */
#define KEK_2_WRAPPED "7d4e0f2259ff077d1083513ac661440c2e00370a7990a052"
#define CREDENTIAL_WRAPPED_BY_2                                                                    \
	"22a9a7028554555a58d6d30c319789263ba236736a2d96fb0247d7c57d2cbccf"                         \
	"d8e6ebdd297c199aba0bf4aa70a15455"
#define DEK_128_WRAPPED_BY_2                                                                       \
	"dc88d7b864208e8a5850239a82ccd217fa920c5654bec515f69589efd647fd5ce17986ad9d63ec32"

/* Keys of IEEE 1619-2007, Annex B, vectors 4 and 10; the tag is "keytag!!". */
#define KEYTAG  "6b65797461672121"
#define DEK_128 "2718281828459045235360287471352631415926535897932384626433832795"
#define DEK_256                                                                                    \
	"2718281828459045235360287471352662497757247093699959574966967627"                         \
	"3141592653589793238462643383279502884197169399375105820974944592"
#define DEK_128_WRAPPED                                                                            \
	"ad98a849a140724d24928ba55980e747032734b2f281e2b7d8244281b813c02b62c0fd868f4c6c83"
#define DEK_128_TAG_WRAPPED                                                                        \
	"2fbfb7e1cb136a943aa08416bc57c5e77f00fe777ede11048912ca9566b9057a"                         \
	"48139c5da8b7fd79775e189e57ae290b"
#define DEK_256_WRAPPED                                                                            \
	"02bdc8037028be9b6a36b76c01756fbedf6361969bf1b2cd950eff88d7a0db45"                         \
	"af2a2ab9e2ecd17ad617b3f0eaf7fd4a633699d06854af364477351f79d9a1d57b10e426344772e6"

static inline size_t from_hex(const char *text, void *out)
{
	uint8_t *to = out;
	size_t n = 0;

	for (; *text; text += 2, n++) {
		const char byte[] = { text[0], text[1], 0 };

		to[n] = (uint8_t)strtoul(byte, NULL, 16);
	}
	return n;
}

#endif
