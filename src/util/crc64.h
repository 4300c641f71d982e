/* SPDX-License-Identifier: BSD-2-Clause */
/* CRC-64 of XP10 and NVMe: polynomial 0xad93d23594c93659, reflected. */
#ifndef UTIL_CRC64_H
#define UTIL_CRC64_H

#include <stddef.h>
#include <stdint.h>

/* The register after `len` more bytes, without the inversions at beginning and end. */
uint64_t crc64_xp10(uint64_t crc, const void *data, size_t len);

#endif
