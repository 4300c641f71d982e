/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * LZ4, by liblz4. The input is the data of one block, or a sequence of blocks as an LZ4 frame has
 * them between its header and its end mark: a length of 4 bytes (little endian; bit 31: the data is
 * stored as it is), the data, and perhaps its xxHash-32. A length of 0 ends the sequence early.
 */
#ifndef HCA_LZ4_H
#define HCA_LZ4_H

#include <stdbool.h>
#include <stdint.h>

#include "hca/memory/codec.h"

/* LZ4_decompress_safe_usingDict() of liblz4. */
typedef int lz4_decompress_fn(const char *src, char *dst, int src_len, int dst_room,
			      const char *dict, int dict_len);

struct lz4_how {
	lz4_decompress_fn *decompress; /* NULL: the library is missing */
	bool has_lengths;              /* a sequence of blocks; else one block */
	bool has_sums;
	bool independent; /* no match reaches into an earlier block */
};

/* Loads the library. Not under a spin lock. NULL: it is missing. */
lz4_decompress_fn *lz4_load(void);

enum codec_result lz4_expand(const struct lz4_how *how, const uint8_t *in, uint32_t len,
			     uint8_t *out, uint32_t room, uint32_t *made);

#endif
