/* SPDX-License-Identifier: BSD-2-Clause */
/* Checksums of uncompressed data. */
#ifndef HCA_CODEC_SUM_H
#define HCA_CODEC_SUM_H

#include <stdbool.h>
#include <stdint.h>

struct codec_sums {
	uint32_t crc32, adler32, crc32c, xxh32;
};

/* All of them; crc32c and xxh32 only with `more`. */
void codec_sums(const uint8_t *data, uint64_t len, bool more, struct codec_sums *out);
/* xxHash-32 with seed 0. */
uint32_t codec_xxh32(const uint8_t *data, uint64_t len);

#endif
