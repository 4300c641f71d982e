/* SPDX-License-Identifier: BSD-2-Clause */
#include "hca/memory/lz4.h"

#include <endian.h>
#include <string.h>

#include "hca/memory/codec_sum.h"
#include "util/api.h"
#include "util/library.h"

#define STORED 0x80000000u
#define WINDOW 65536u
#define NIBBLE 15u /* a length that goes on in further bytes */

lz4_decompress_fn *lz4_load(void)
{
	static const char *const names[] = { "LZ4_decompress_safe_usingDict" };
	void *found[array_size(names)];

	if (library_open("liblz4.so.1", names, found, array_size(names)))
		return NULL;
	return (lz4_decompress_fn *)found[0];
}

/* The rest of a length whose nibble is full: bytes are added until one is not 255. */
static bool add_length(const uint8_t **at, const uint8_t *end, uint64_t *length)
{
	uint8_t byte;

	if (*length < NIBBLE)
		return true;
	do {
		if (*at == end)
			return false;
		byte = *(*at)++;
		*length += byte;
	} while (byte == 255);
	return true;
}

/* Bytes that a block expands to, distances unchecked; false when its structure is broken. */
static bool block_length(const uint8_t *at, uint32_t len, uint64_t *out)
{
	const uint8_t *end = at + len;

	*out = 0;
	while (at < end) {
		uint64_t literals = *at >> 4, match = *at & NIBBLE;

		at++;
		if (!add_length(&at, end, &literals) || literals > (uint64_t)(end - at))
			return false;
		at += literals;
		*out += literals;
		if (at == end)
			return true;
		if (end - at < 2)
			return false;
		at += 2;
		if (!add_length(&at, end, &match))
			return false;
		*out += match + 4;
	}
	return false;
}

/* liblz4 does not tell a lack of room from broken data. */
static enum codec_result failure(const uint8_t *in, uint32_t len, uint32_t room)
{
	uint64_t full;

	return block_length(in, len, &full) && full > room ? CODEC_NO_SPACE : CODEC_CORRUPT;
}

/* `history`: bytes before `out` that a match may reach. */
static enum codec_result expand_block(const struct lz4_how *how, const uint8_t *in, uint32_t len,
				      uint8_t *out, uint32_t room, uint32_t history, uint32_t *made)
{
	int n;

	if (!how->decompress)
		return CODEC_FAILED;
	n = how->decompress((const char *)in, (char *)out, (int)len, (int)room,
			    (const char *)out - history, (int)history);
	if (n < 0)
		return failure(in, len, room);
	*made = (uint32_t)n;
	return CODEC_DONE;
}

static uint32_t load_le32(const uint8_t *at)
{
	uint32_t v;

	memcpy(&v, at, sizeof(v));
	return le32toh(v);
}

static enum codec_result expand_blocks(const struct lz4_how *how, const uint8_t *in, uint32_t len,
				       uint8_t *out, uint32_t room, uint32_t *made)
{
	const uint32_t tail = how->has_sums ? 4 : 0;
	uint32_t done = 0;

	while (len) {
		uint32_t head, size, got, history = done < WINDOW ? done : WINDOW;
		enum codec_result result = CODEC_DONE;

		if (len < 4)
			return CODEC_TRUNCATED;
		head = load_le32(in);
		if (!head)
			break;
		size = head & ~STORED;
		in += 4;
		len -= 4;
		if (size > len || tail > len - size)
			return CODEC_TRUNCATED;
		if (tail && load_le32(in + size) != codec_xxh32(in, size))
			return CODEC_CORRUPT;
		got = size;
		if (!(head & STORED))
			result = expand_block(how, in, size, out + done, room - done,
					      how->independent ? 0 : history, &got);
		else if (size > room - done)
			result = CODEC_NO_SPACE;
		else
			memmove(out + done, in, size);
		if (result != CODEC_DONE)
			return result;
		done += got;
		in += size + tail;
		len -= size + tail;
	}
	*made = done;
	return CODEC_DONE;
}

enum codec_result lz4_expand(const struct lz4_how *how, const uint8_t *in, uint32_t len,
			     uint8_t *out, uint32_t room, uint32_t *made)
{
	return how->has_lengths ? expand_blocks(how, in, len, out, room, made)
				: expand_block(how, in, len, out, room, 0, made);
}
