/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The library context is the adapter's own: neither the program's choice of providers nor
 * openssl.cnf changes what an adapter can do. It is never freed, like the library.
 */
#include "hca/memory/libcrypto.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hca/hca.h"
#include "util/explain.h"
#include "util/library.h"

#define SONAME "libcrypto.so.3"

static const char *const names[] = {
	"OSSL_LIB_CTX_new",   "OSSL_LIB_CTX_free",   "EVP_CIPHER_fetch",
	"EVP_CIPHER_CTX_new", "EVP_CIPHER_CTX_free", "EVP_CIPHER_CTX_set_flags",
	"EVP_CipherInit_ex2", "EVP_CipherUpdate",    "EVP_CIPHER_CTX_set_padding",
	"ERR_clear_error",
};

_Static_assert(offsetof(struct libcrypto, xts) == array_size(names) * sizeof(void *),
	       "a name for each function");

static int fetch(struct libcrypto *lib)
{
	static const struct {
		const char *xts, *ecb, *wrap;
	} ciphers[2] = {
		{ "AES-128-XTS", "AES-128-ECB", "AES-128-WRAP" },
		{ "AES-256-XTS", "AES-256-ECB", "AES-256-WRAP" },
	};
	OSSL_LIB_CTX *own = lib->OSSL_LIB_CTX_new();
	bool all = own;

	for (int i = 0; i < 2 && all; i++) {
		lib->xts[i] = lib->EVP_CIPHER_fetch(own, ciphers[i].xts, NULL);
		lib->ecb[i] = lib->EVP_CIPHER_fetch(own, ciphers[i].ecb, NULL);
		lib->wrap[i] = lib->EVP_CIPHER_fetch(own, ciphers[i].wrap, NULL);
		all = lib->xts[i] && lib->ecb[i] && lib->wrap[i];
	}
	if (all)
		return 0;
	lib->OSSL_LIB_CTX_free(own);
	lib->ERR_clear_error();
	return explain(EOPNOTSUPP, "%s: its default provider lacks AES-XTS or AES key wrap",
		       SONAME);
}

static int load(struct libcrypto **out)
{
	void *functions[array_size(names)];
	struct libcrypto *lib = calloc(1, sizeof(*lib));
	int err;

	if (!lib)
		return -ENOMEM;
	err = library_open(SONAME, names, functions, array_size(names));
	if (!err) {
		memcpy(lib, functions, sizeof(functions));
		err = fetch(lib);
	}
	if (err) {
		free(lib);
		return err;
	}
	*out = lib;
	return 0;
}

const struct libcrypto *libcrypto_get(void)
{
	struct libcrypto *lib;

	pthread_mutex_lock(&hca.memory.crypto.load_lock);
	lib = hca.memory.crypto.lib;
	if (!lib && !load(&lib))
		hca.memory.crypto.lib = lib;
	pthread_mutex_unlock(&hca.memory.crypto.load_lock);
	return lib;
}
