/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Encryption by memory keys: limits, and a key's configuration as a ring format has decoded it.
 * Types only.
 */
#ifndef HCA_DEVICE_CRYPTO_H
#define HCA_DEVICE_CRYPTO_H

#include <stdbool.h>
#include <stdint.h>

#define HCA_LOG_DEKS    20u /* of the most data encryption keys */
#define HCA_LOG_SECRETS 8u  /* of the most import KEKs, and of the most credentials */

#define HCA_KEYTAG_LEN 8u

/* The part that is encrypted, of a key that has signatures, too. Numbers as BSFs have them. */
enum hca_crypto_order {
	HCA_CRYPTO_WIRE_SIGNATURE,   /* the wire's data and signatures */
	HCA_CRYPTO_MEMORY_SIGNATURE, /* the memory's data and signatures */
	HCA_CRYPTO_RAW_WIRE,         /* the wire's data */
	HCA_CRYPTO_RAW_MEMORY,       /* the memory's data */
};

/* AES-XTS of a memory key. */
struct hca_crypto_conf {
	uint8_t order;     /* enum hca_crypto_order */
	uint32_t unit;     /* bytes of a data unit */
	uint32_t dek;      /* number */
	uint8_t tweak[16]; /* of the first data unit; little endian, the next ones count up */
	uint8_t keytag[HCA_KEYTAG_LEN];
};

/* The wire is encrypted, else memory is. */
static inline bool hca_crypto_is_wire(const struct hca_crypto_conf *conf)
{
	return conf->order == HCA_CRYPTO_WIRE_SIGNATURE || conf->order == HCA_CRYPTO_RAW_WIRE;
}

#endif
