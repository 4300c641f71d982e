/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CRC-32 for CPUs without carry-less multiplication, emulated and very old ones: by table, sixteen
 * bytes at a step, and for long data by shifts. ISA-L then takes one byte at a time: half as fast as
 * the former, and an eighth as fast as the latter in an emulator.
 */
#ifndef ROCE_SLICE_H
#define ROCE_SLICE_H

#include <stddef.h>
#include <stdint.h>

/* Once, before the others. */
void roce_slice_init(void);
/* Goes on from `crc`, 0 to begin with, as zlib and ISA-L count it. Any thread. */
uint32_t roce_slice_crc32(uint32_t crc, const uint8_t *data, size_t len);
/* The same of whole words, a few. */
uint32_t roce_slice_words(uint32_t crc, const uint8_t *data, size_t len);

#endif
