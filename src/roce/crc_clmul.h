/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CRC-32 of short data by carry-less multiplication. ISA-L is made for long data: it selects a routine by
 * CPU and length on each call, and takes single bytes below sixteen.
 */
#ifndef ROCE_CRC_CLMUL_H
#define ROCE_CRC_CLMUL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROCE_CRC_CLMUL_MAX 64u

/* Whether this CPU has the instruction. */
bool roce_crc_clmul_supported(void);
/*
 * Continues `crc` (0 to start, as in zlib and ISA-L) over 4 to ROCE_CRC_CLMUL_MAX bytes, a multiple of four.
 * Only where supported. Any thread.
 */
uint32_t roce_crc_clmul(uint32_t crc, const uint8_t *data, size_t len);

#endif
