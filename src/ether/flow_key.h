/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fields of a packet that rules match on, in one array of bits in network order. The layout is
 * that of the match parameters of a ConnectX-5, so that the parameters of mlx5dv are a key already;
 * other callers build a key with flow_key_set(). No state, no lock.
 */
#ifndef ETHER_FLOW_KEY_H
#define ETHER_FLOW_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ether/frame.h"
#include "util/api.h"

#define FLOW_KEY_BYTES 448u
#define FLOW_KEY_WORDS (FLOW_KEY_BYTES / 8)

/* Offsets of the parts, of 64 bytes each; match_criteria_enable has a bit per part. */
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
/* A bit beside those of the parts: the results of checksums, which cost a pass over the packet. */
#define FLOW_KEY_CHECKS (1u << FLOW_KEY_PARTS)

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

/* From a field of the outer headers to the same one of the inner headers. */
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

/* Stores the lowest bits of value; a field of 64 bits must begin on a byte. */
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
 * Stores the frame's fields. Registers are left as they are, so that they survive a change of the
 * frame; clear a new key first.
 */
void flow_key_fill(struct flow_key *key, struct ether_frame *frame);
/* Fills some parts of the key only (a bit each, outer headers first). */
void flow_key_fill_parts(struct flow_key *key, struct ether_frame *frame, unsigned int parts);
/* The parts that have bits in the mask. */
unsigned int flow_key_parts(const struct flow_key *mask);

/* NULL when all bits of the mask belong to fields, else the name of a part with other bits. */
VB_API const char *flow_key_unknown(const struct flow_key *mask);

/* Prints names and values of the fields in the mask, as snprintf() does; returns the length. */
VB_API size_t flow_key_print(const struct flow_key *key, const struct flow_key *mask, char *out,
			     size_t size);

#endif
