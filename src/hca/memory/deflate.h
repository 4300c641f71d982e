/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Deflate (RFC 1951), raw blocks without a zlib or gzip header, by ISA-L. The workspace belongs to the
 * caller, for one call at a time.
 */
#ifndef HCA_DEFLATE_H
#define HCA_DEFLATE_H

#include <stdbool.h>
#include <stdint.h>

#include "hca/memory/codec.h"

struct deflate_work; /* about 400 KiB */

/* NULL: no memory. */
struct deflate_work *deflate_work_create(void);
void deflate_work_destroy(struct deflate_work *w);

struct deflate_how {
	uint8_t log_window; /* bytes that a match may reach back: 10 to 15 */
	uint8_t log_block;  /* symbols of a block with codes of its own: up to 15 */
	bool dynamic;       /* codes made for each block; else the fixed ones */
};

enum codec_result deflate_compress(struct deflate_work *w, const struct deflate_how *how,
				   const uint8_t *in, uint32_t len, uint8_t *out, uint32_t room,
				   uint32_t *made);
enum codec_result deflate_expand(struct deflate_work *w, const uint8_t *in, uint32_t len,
				 uint8_t *out, uint32_t room, uint32_t *made);

#endif
