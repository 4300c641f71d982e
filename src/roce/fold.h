/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CRC-32 of a few words by carry-less multiplication. ISA-L is made for long data: it has to find out
 * which of its ways fits the CPU and the length, and takes single bytes below sixteen.
 */
#ifndef ROCE_FOLD_H
#define ROCE_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROCE_FOLD_MOST 64u

/* Once, before the other; false when the CPU cannot. */
bool roce_fold_init(void);
/* 4 to ROCE_FOLD_MOST bytes, whole words. Goes on from `crc`, as ISA-L counts it. Any thread. */
uint32_t roce_fold_crc32(uint32_t crc, const uint8_t *data, size_t len);

#endif
