/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * OpenSSL's libcrypto, loaded when the first key is imported: programs without encryption do not
 * pay for its start.
 */
#ifndef HCA_LIBCRYPTO_H
#define HCA_LIBCRYPTO_H

#include <openssl/evp.h>
#include <stddef.h>

/* Its functions, and the ciphers for keys of 128 and 256 bits. Constant once loaded. */
struct libcrypto {
	struct {
		OSSL_LIB_CTX *(*OSSL_LIB_CTX_new)(void);
		void (*OSSL_LIB_CTX_free)(OSSL_LIB_CTX *);
		EVP_CIPHER *(*EVP_CIPHER_fetch)(OSSL_LIB_CTX *, const char *, const char *);
		EVP_CIPHER_CTX *(*EVP_CIPHER_CTX_new)(void);
		void (*EVP_CIPHER_CTX_free)(EVP_CIPHER_CTX *);
		void (*EVP_CIPHER_CTX_set_flags)(EVP_CIPHER_CTX *, int);
		int (*EVP_CipherInit_ex2)(EVP_CIPHER_CTX *, const EVP_CIPHER *,
					  const unsigned char *, const unsigned char *, int,
					  const OSSL_PARAM *);
		int (*EVP_CipherUpdate)(EVP_CIPHER_CTX *, unsigned char *, int *,
					const unsigned char *, int);
		int (*EVP_CIPHER_CTX_set_padding)(EVP_CIPHER_CTX *, int);
		void (*ERR_clear_error)(void);
	};
	EVP_CIPHER *xts[2], *ecb[2], *wrap[2];
};

/* NULL, explained, when it cannot be loaded. */
const struct libcrypto *libcrypto_get(void);

#endif
