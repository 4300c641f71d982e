/* SPDX-License-Identifier: BSD-2-Clause */
/* The bytes of an input, taken one after the other; behind the end everything is 0. */
#ifndef FUZZ_INPUT_H
#define FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct input {
	const uint8_t *data;
	size_t left;
};

static inline uint8_t input_u8(struct input *in)
{
	if (!in->left)
		return 0;
	in->left--;
	return *in->data++;
}

static inline uint16_t input_u16(struct input *in)
{
	uint16_t high = input_u8(in);

	return (uint16_t)(high << 8 | input_u8(in));
}

static inline uint32_t input_u32(struct input *in)
{
	uint32_t high = input_u16(in);

	return high << 16 | input_u16(in);
}

static inline uint64_t input_u64(struct input *in)
{
	uint64_t high = input_u32(in);

	return high << 32 | input_u32(in);
}

/* As many bytes as there are, up to `most`, into `to`; the rest of `to` stays. */
static inline size_t input_bytes(struct input *in, void *to, size_t most)
{
	size_t n = in->left < most ? in->left : most;

	if (n)
		memcpy(to, in->data, n);
	in->data += n;
	in->left -= n;
	return n;
}

#endif
