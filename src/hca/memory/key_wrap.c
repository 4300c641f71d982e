/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/memory/key_wrap.h"

#include <errno.h>
#include <string.h>

#include "hca/memory/libcrypto.h"
#include "util/explain.h"

#define LONGEST 80u

int key_unwrap(const uint8_t *kek, size_t kek_len, const uint8_t *in, size_t len, uint8_t *out)
{
	const struct libcrypto *lib = libcrypto_get();
	uint8_t plain[LONGEST];
	EVP_CIPHER_CTX *ctx;
	int done = 0, ok;

	if (!lib)
		return -EOPNOTSUPP;
	ctx = lib->EVP_CIPHER_CTX_new();
	if (!ctx)
		return -ENOMEM;
	lib->EVP_CIPHER_CTX_set_flags(ctx, EVP_CIPHER_CTX_FLAG_WRAP_ALLOW);
	/* Without an IV it is that of RFC 3394, 2.2.3.1. */
	ok = lib->EVP_CipherInit_ex2(ctx, lib->wrap[kek_len == 32], kek, NULL, 0, NULL) == 1 &&
	     lib->EVP_CipherUpdate(ctx, plain, &done, in, (int)len) == 1 &&
	     (size_t)done == len - KEY_WRAP_EXTRA;
	lib->ERR_clear_error();
	lib->EVP_CIPHER_CTX_free(ctx);
	if (ok)
		memcpy(out, plain, len - KEY_WRAP_EXTRA);
	explicit_bzero(plain, sizeof(plain));
	return ok ? 0 : explain(EINVAL, "%zu bytes that the import KEK did not wrap", len);
}
