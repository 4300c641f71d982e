/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What rules compare: the fields of a packet in one flat string of bits, network order. It is laid
 * out as the match parameters of a ConnectX-5 are, so that what programs hand to mlx5dv is a key
 * already; everything else is put together with flow_key_set(). No state, no lock.
 */
#ifndef ETHER_FLOW_KEY_H
#define ETHER_FLOW_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ether/steer.h"

#define FLOW_KEY_BYTES 448u
#define FLOW_KEY_WORDS (FLOW_KEY_BYTES / 8)

/* Where the parts begin; each is 64 bytes long, and a bit of match_criteria_enable stands for it. */
#define FLOW_KEY_OUTER 0x000u
#define FLOW_KEY_MISC  0x040u
#define FLOW_KEY_INNER 0x080u
#define FLOW_KEY_MISC2 0x0c0u
#define FLOW_KEY_MISC3 0x100u
#define FLOW_KEY_MISC4 0x140u
#define FLOW_KEY_MISC5 0x180u
#define FLOW_KEY_PARTS 7u
#define FLOW_KEY_PART  64u
#define FLOW_KEY_ALL   ((1u << FLOW_KEY_PARTS) - 1)

struct flow_key {
	union {
		_Alignas(64) uint8_t bytes[FLOW_KEY_BYTES];
		uint64_t words[FLOW_KEY_WORDS];
	};
};

#define FLOW_PLACE(byte, bit, width) ((((byte)*8 + (bit)) << 8) | (width))

enum flow_field {
#define FLOW_LAYER(name, byte, bit, width)                                                         \
	FLOW_OUTER_##name = FLOW_PLACE(FLOW_KEY_OUTER + (byte), bit, width),                       \
	FLOW_INNER_##name = FLOW_PLACE(FLOW_KEY_INNER + (byte), bit, width),
#define FLOW_FIELD(name, byte, bit, width) FLOW_##name = FLOW_PLACE(byte, bit, width),
#include "ether/flow_fields.def"
#undef FLOW_LAYER
#undef FLOW_FIELD
};

/* Between the two there is this much. */
#define FLOW_TO_INNER FLOW_PLACE(FLOW_KEY_INNER, 0, 0)

static inline uint64_t flow_key_get(const struct flow_key *key, enum flow_field field)
{
	unsigned int bit = (unsigned int)field >> 8, width = field & 0xff, have = 0;
	const uint8_t *at = key->bytes + bit / 8;
	uint64_t value = *at++ & (0xff >> bit % 8);

	for (have = 8 - bit % 8; have < width; have += 8)
		value = value << 8 | *at++;
	return value >> (have - width);
}

/* The lowest bits of value; a field of 64 bits begins on a byte. */
static inline void flow_key_set(struct flow_key *key, enum flow_field field, uint64_t value)
{
	unsigned int bit = (unsigned int)field >> 8, width = field & 0xff;

	for (unsigned int i = 0; i < width;) {
		unsigned int last = bit + width - 1 - i, low = 7 - last % 8;
		unsigned int take = 8 - low < width - i ? 8 - low : width - i;
		uint8_t mask = ((1u << take) - 1) << low;

		key->bytes[last / 8] =
			(key->bytes[last / 8] & ~mask) | ((uint8_t)(value >> i) << low & mask);
		i += take;
	}
}

/*
 * The frame's fields. Those of registers are left as they are, so that they outlive a change of
 * the frame; clear a new key first.
 */
void flow_key_fill(struct flow_key *key, struct ether_frame *frame);
/* The same for some parts (a bit each, outer headers first): those that a mask looks at. */
void flow_key_fill_parts(struct flow_key *key, struct ether_frame *frame, unsigned int parts);
unsigned int flow_key_parts(const struct flow_key *mask);

/* NULL when all bits of the mask are looked at, else the name of the part with one that is not. */
VB_API const char *flow_key_unknown(const struct flow_key *mask);

/* The names and values of the fields that are set in mask, for people; returns the length. */
VB_API size_t flow_key_print(const struct flow_key *key, const struct flow_key *mask, char *out,
			     size_t size);

#endif
