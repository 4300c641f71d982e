/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The stage of a memory key that encrypts (transform.h): AES-XTS, both sides equally long. The
 * wire is encrypted and memory is not, or the other way round.
 */
#ifndef HCA_CRYPT_H
#define HCA_CRYPT_H

#include "hca/device/crypto.h"
#include "hca/memory/dek.h"
#include "hca/memory/transform.h"

/*
 * `length`: bytes of the space below; `on_memory`: that space is memory, not another stage. Takes a
 * reference on the DEK. Accesses fail when the DEK is destroyed or has another key tag. NULL: memory
 * is short.
 */
struct transform *crypt_create(const struct hca_crypto_conf *conf, struct hca_dek *dek,
			       uint64_t length, bool on_memory);
/* The stage of a key that was made for encryption and never configured: all accesses fail. */
struct transform *crypt_create_unset(void);

#endif
