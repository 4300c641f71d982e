/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * AES key wrap (RFC 3394): how keys and credentials come to an adapter. Stateless.
 */
#ifndef HCA_KEY_WRAP_H
#define HCA_KEY_WRAP_H

#include <stddef.h>
#include <stdint.h>

#define KEY_WRAP_EXTRA 8u /* bytes that a wrapped key is longer */

/*
 * Unwraps `len` bytes, a multiple of 8 from 24 to 80, by a key of 16 or 32 bytes; writes 8 bytes
 * fewer. -EINVAL: wrapped by another key.
 */
int key_unwrap(const uint8_t *kek, size_t kek_len, const uint8_t *in, size_t len, uint8_t *out);

#endif
