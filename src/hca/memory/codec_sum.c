/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/memory/codec_sum.h"

#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>

#include "util/vector.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Bytes per call of crc32_iscsi(), whose length is an int. */
#define CRC32C_MOST (1u << 30)

uint32_t codec_xxh32(const uint8_t *data, uint64_t len)
{
	return XXH32(data, len, 0);
}

static uint32_t crc32c(const uint8_t *data, uint64_t len)
{
	uint32_t crc = ~0u;

	while (len) {
		int n = (int)(len < CRC32C_MOST ? len : CRC32C_MOST);

		/* The argument is not const in ISA-L 2.30, but is only read. */
		crc = crc32_iscsi((unsigned char *)(uintptr_t)data, n, crc);
		data += n;
		len -= n;
	}
	return ~crc;
}

void codec_sums(const uint8_t *data, uint64_t len, bool more, struct codec_sums *out)
{
	out->crc32 = crc32_gzip_refl(0, data, len);
	out->adler32 = isal_adler32(1, data, len);
	out->crc32c = more ? crc32c(data, len) : 0;
	out->xxh32 = more ? codec_xxh32(data, len) : 0;
	vector_clear_upper();
}
