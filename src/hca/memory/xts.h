/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * AES-XTS (IEEE 1619): encryption of runs of data units. Knows bytes only; any number of threads
 * may use a key.
 */
#ifndef HCA_XTS_H
#define HCA_XTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define XTS_BLOCK 16u /* bytes of the shortest data unit */

struct xts_key;

/* `len` is 32 or 64: two AES keys of 128 or 256 bits. */
int xts_key_create(const uint8_t *key, size_t len, struct xts_key **out);
void xts_key_destroy(struct xts_key *key);

/* Adds n to a tweak: a number of 128 bits, little endian. */
void xts_tweak_add(uint8_t tweak[16], uint64_t n);

/* A part of a run of data units. */
struct xts_run {
	bool encrypt;
	uint32_t unit;     /* bytes of a data unit, 16 or more */
	uint32_t skip;     /* bytes of the first unit in front of the part; a multiple of 16 */
	uint8_t tweak[16]; /* of the first unit; each further one has the next number */
};

/*
 * Encrypts or decrypts. The part ends with a unit, or inside of one at a multiple of 16 bytes. A last unit
 * that is not a multiple of 16 bytes long is of use only as a whole from its last but one block on
 * (ciphertext stealing, IEEE 1619 5.3.2). `in` may be `out`. False: memory is short.
 */
bool xts_crypt(struct xts_key *key, const struct xts_run *run, const uint8_t *in, uint8_t *out,
	       size_t len);

#endif
