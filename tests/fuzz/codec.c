/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Data that the memory-to-memory engine expands: deflate, an LZ4 block, LZ4 blocks; and any data
 * compressed and expanded again.
 *
 * Input: a byte that chooses, two bytes of room for the output, then the data.
 */
#include <stdbool.h>
#include <string.h>

#include "fuzz.h"
#include "hca/memory/codec_sum.h"
#include "hca/memory/deflate.h"
#include "hca/memory/lz4.h"

enum {
	DEFLATE = 1 << 0, /* else LZ4 */
	AGAIN = 1 << 1,   /* deflate: compress, then expand */
	DYNAMIC = 1 << 2,
	LENGTHS = 1 << 1, /* LZ4 */
	SUMS = 1 << 2,
	ALONE = 1 << 3,
	WINDOW_SHIFT = 4,
	PREFIX = 3,
	LONGEST = 70000,
};

/* As long as it is, for the sanitizer's sake. */
static uint8_t *copy_of(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	memcpy(copy, data, size);
	return copy;
}

static void expand_deflated(struct deflate_work *w, const uint8_t *in, uint32_t len, uint32_t room)
{
	uint8_t *out = malloc(room ? room : 1);
	uint32_t made;

	if (deflate_expand(w, in, len, out, room, &made) == CODEC_DONE)
		CHECK(made <= room);
	free(out);
}

static void compress_and_expand(struct deflate_work *w, uint8_t options, const uint8_t *in,
				uint32_t len)
{
	const struct deflate_how how = { .log_window = 10 + (options >> WINDOW_SHIFT) % 6,
					 .log_block = options >> WINDOW_SHIFT,
					 .dynamic = options & DYNAMIC };
	uint8_t *out = malloc(2 * LONGEST), *back = malloc(len ? len : 1);
	uint32_t made, got;

	CHECK(deflate_compress(w, &how, in, len, out, 2 * LONGEST, &made) == CODEC_DONE);
	CHECK(deflate_expand(w, out, made, back, len, &got) == CODEC_DONE);
	CHECK(got == len && !memcmp(in, back, len));
	free(out);
	free(back);
}

static void expand_lz4(uint8_t options, const uint8_t *in, uint32_t len, uint32_t room)
{
	static lz4_decompress_fn *decompress;
	struct lz4_how how = { .has_lengths = options & LENGTHS,
			       .has_sums = options & SUMS,
			       .independent = options & ALONE };
	uint8_t *out = malloc(room ? room : 1);
	struct codec_sums sums;
	uint32_t made;

	if (!decompress)
		decompress = lz4_load();
	how.decompress = decompress;
	if (lz4_expand(&how, in, len, out, room, &made) == CODEC_DONE) {
		CHECK(made <= room);
		codec_sums(out, made, true, &sums);
	}
	free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct deflate_work *work;
	uint32_t room, len;
	uint8_t *in;

	if (size < PREFIX || size > LONGEST)
		return 0;
	if (!work)
		work = deflate_work_create();
	room = (uint32_t)data[1] << 8 | data[2];
	len = (uint32_t)size - PREFIX;
	in = copy_of(data + PREFIX, len);
	if (!(data[0] & DEFLATE))
		expand_lz4(data[0], in, len, room);
	else if (data[0] & AGAIN)
		compress_and_expand(work, data[0], in, len);
	else
		expand_deflated(work, in, len, room);
	free(in);
	return 0;
}
