/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A cipher context of libcrypto serves one thread at a time: a key keeps those that are idle, in
 * slots for each direction. A thread that finds no idle one makes another.
 *
 * libcrypto begins a data unit at its first block, whose mask is E(tweak), E being AES with the
 * second key. Block j has the mask E(tweak) * x^j in GF(2^128). A run that begins at block j is
 * given the tweak D(E(tweak) * x^j).
 *
 * libcrypto refuses to encrypt with two equal keys, which a ConnectX takes (DPDK's test vectors are
 * made so). It gets another second key then, and tweaks that lead to the right masks.
 */
#include "hca/memory/xts.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "hca/memory/libcrypto.h"

#define IDLE 4

enum use { DECRYPT, ENCRYPT, TWEAK_DECRYPT, TWEAK_ENCRYPT, USES };

struct xts_key {
	const struct libcrypto *lib;
	_Atomic(EVP_CIPHER_CTX *) idle[USES][IDLE];
	size_t len;
	bool equal;            /* both keys are the same */
	uint8_t bytes[64];     /* as libcrypto's XTS has them */
	uint8_t tweak_key[32]; /* the true second key */
};

static EVP_CIPHER_CTX *make(const struct xts_key *key, enum use use)
{
	const struct libcrypto *lib = key->lib;
	EVP_CIPHER_CTX *ctx = lib->EVP_CIPHER_CTX_new();
	bool is_256 = key->len == 64, ecb = use == TWEAK_DECRYPT || use == TWEAK_ENCRYPT;
	const uint8_t *bytes = use == TWEAK_ENCRYPT   ? key->tweak_key
			       : use == TWEAK_DECRYPT ? key->bytes + key->len / 2
						      : key->bytes;

	if (!ctx)
		return NULL;
	if (lib->EVP_CipherInit_ex2(ctx, ecb ? lib->ecb[is_256] : lib->xts[is_256], bytes, NULL,
				    use == ENCRYPT || use == TWEAK_ENCRYPT, NULL) == 1 &&
	    (!ecb || lib->EVP_CIPHER_CTX_set_padding(ctx, 0) == 1))
		return ctx;
	lib->ERR_clear_error();
	lib->EVP_CIPHER_CTX_free(ctx);
	return NULL;
}

static EVP_CIPHER_CTX *take(struct xts_key *key, enum use use)
{
	for (int i = 0; i < IDLE; i++) {
		_Atomic(EVP_CIPHER_CTX *) *slot = &key->idle[use][i];
		EVP_CIPHER_CTX *ctx;

		if (!atomic_load_explicit(slot, memory_order_relaxed))
			continue;
		/* [XT1] pairs with give(): the context before its pointer */
		ctx = atomic_exchange_explicit(slot, NULL, memory_order_acquire);
		if (ctx)
			return ctx;
	}
	return make(key, use);
}

static void give(struct xts_key *key, enum use use, EVP_CIPHER_CTX *ctx)
{
	for (int i = 0; i < IDLE; i++) {
		EVP_CIPHER_CTX *none = NULL;

		/* [XT1] */
		if (atomic_compare_exchange_strong_explicit(&key->idle[use][i], &none, ctx,
							    memory_order_release,
							    memory_order_relaxed))
			return;
	}
	key->lib->EVP_CIPHER_CTX_free(ctx);
}

int xts_key_create(const uint8_t *bytes, size_t len, struct xts_key **out)
{
	const struct libcrypto *lib = libcrypto_get();
	struct xts_key *key;

	if (!lib)
		return -EOPNOTSUPP;
	key = calloc(1, sizeof(*key));
	if (!key)
		return -ENOMEM;
	key->lib = lib;
	key->len = len;
	memcpy(key->bytes, bytes, len);
	memcpy(key->tweak_key, bytes + len / 2, len / 2);
	key->equal = !memcmp(bytes, key->tweak_key, len / 2);
	if (key->equal)
		key->bytes[len / 2] ^= 1;
	for (enum use use = 0; use < USES; use++) {
		EVP_CIPHER_CTX *ctx = make(key, use);

		if (!ctx) {
			xts_key_destroy(key);
			return -ENOMEM;
		}
		give(key, use, ctx);
	}
	*out = key;
	return 0;
}

void xts_key_destroy(struct xts_key *key)
{
	for (int i = 0; i < USES * IDLE; i++)
		key->lib->EVP_CIPHER_CTX_free(key->idle[i / IDLE][i % IDLE]);
	explicit_bzero(key, sizeof(*key));
	free(key);
}

void xts_tweak_add(uint8_t tweak[16], uint64_t n)
{
	for (int i = 0; i < 16 && n; i++) {
		n += tweak[i];
		tweak[i] = (uint8_t)n;
		n >>= 8;
	}
}

static bool crypt_tweak(struct xts_key *key, enum use use, uint8_t tweak[16])
{
	EVP_CIPHER_CTX *ctx = take(key, use);
	int done;
	bool ok;

	if (!ctx)
		return false;
	ok = key->lib->EVP_CipherUpdate(ctx, tweak, &done, tweak, 16) == 1;
	give(key, use, ctx);
	return ok;
}

/* mask * x^j; x^128 is x^7 + x^2 + x + 1 (IEEE 1619 5.2). */
static unsigned __int128 times_x(unsigned __int128 mask, uint32_t j)
{
	while (j) {
		uint32_t n = j < 64 ? j : 64;
		unsigned __int128 over = mask >> (128 - n);

		mask = mask << n ^ over ^ over << 1 ^ over << 2 ^ over << 7;
		j -= n;
	}
	return mask;
}

/* The tweak whose first mask is that of block j under `tweak`. */
static bool tweak_at(struct xts_key *key, uint8_t tweak[16], uint32_t j)
{
	unsigned __int128 mask;

	if (!crypt_tweak(key, TWEAK_ENCRYPT, tweak))
		return false;
	memcpy(&mask, tweak, sizeof(mask));
	mask = times_x(mask, j);
	memcpy(tweak, &mask, sizeof(mask));
	return crypt_tweak(key, TWEAK_DECRYPT, tweak);
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "masks are little endian");

bool xts_crypt(struct xts_key *key, const struct xts_run *run, const uint8_t *in, uint8_t *out,
	       size_t len)
{
	enum use use = run->encrypt ? ENCRYPT : DECRYPT;
	uint8_t number[16], tweak[16];
	uint32_t room = run->unit - run->skip;
	EVP_CIPHER_CTX *ctx;
	bool ok = true;

	memcpy(number, run->tweak, sizeof(number));
	memcpy(tweak, number, sizeof(tweak));
	if ((run->skip || key->equal) && !tweak_at(key, tweak, run->skip / XTS_BLOCK))
		return false;
	ctx = take(key, use);
	if (!ctx)
		return false;
	for (size_t n; len && ok; in += n, out += n, len -= n) {
		int done;

		n = len < room ? len : room;
		ok = key->lib->EVP_CipherInit_ex2(ctx, NULL, NULL, tweak, -1, NULL) == 1 &&
		     key->lib->EVP_CipherUpdate(ctx, out, &done, in, (int)n) == 1;
		room = run->unit;
		xts_tweak_add(number, 1);
		memcpy(tweak, number, sizeof(tweak));
		ok = ok && (!key->equal || tweak_at(key, tweak, 0));
	}
	give(key, use, ctx);
	return ok;
}
