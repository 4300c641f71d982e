/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CRC-32 for CPUs without carry-less multiplication (emulated or very old ones): by tables, sixteen bytes
 * per step, and for long data by shifts. There ISA-L takes one byte at a time: half as fast as the
 * tables, and an eighth as fast as the shifts in an emulator.
 */
#ifndef ROCE_CRC_TABLE_H
#define ROCE_CRC_TABLE_H

#include <stddef.h>
#include <stdint.h>

#define ROCE_CRC_TABLE_STEP 16

/* crc[n][b]: the CRC of byte b with n zero bytes after it. Constant once initialized. */
struct roce_crc_table {
	uint32_t crc[ROCE_CRC_TABLE_STEP][256];
};

void roce_crc_table_init(struct roce_crc_table *t);
/* Continues `crc` (0 to start, as in zlib and ISA-L) over `data`. Any thread. */
uint32_t roce_crc_table_update(const struct roce_crc_table *t, uint32_t crc, const uint8_t *data,
			       size_t len);
/* As roce_crc_table_update(), for short data whose length is a multiple of four. */
uint32_t roce_crc_table_words(const struct roce_crc_table *t, uint32_t crc, const uint8_t *data,
			      size_t len);

#endif
