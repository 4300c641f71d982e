/* SPDX-License-Identifier: BSD-2-Clause */
#include "ether/aso.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "ether/aso_ct.h"
#include "ether/aso_meter.h"
#include "ether/state.h"

static const uint32_t per_context[ASO_KINDS] = {
	[ASO_FIRST_HIT] = 8 * ASO_BYTES,
	[ASO_METER] = ASO_BYTES / ASO_METER_BYTES,
	[ASO_CT] = 1,
};

struct aso *aso_create(enum aso_kind kind, uint32_t contexts)
{
	struct aso *aso = calloc(1, sizeof(*aso) + (size_t)contexts * ASO_BYTES);

	if (!aso)
		return NULL;
	aso->kind = kind;
	aso->contexts = contexts;
	atomic_init(&aso->refs, 1);
	return aso;
}

struct aso *aso_get(struct aso *aso)
{
	atomic_fetch_add(&aso->refs, 1);
	return aso;
}

void aso_put(struct aso *aso)
{
	if (atomic_fetch_sub(&aso->refs, 1) == 1)
		free(aso);
}

static void put_retired(struct epoch_node *node)
{
	aso_put(container_of(node, struct aso, epoch));
}

void aso_retire(struct aso *aso)
{
	epoch_retire(&aso->epoch, put_retired);
}

uint32_t aso_count(const struct aso *aso)
{
	return aso->contexts * per_context[aso->kind];
}

static bool holds(unsigned int op, uint32_t a, uint32_t b)
{
	switch (op) {
	case ASO_ALWAYS:
		return true;
	case ASO_EQUAL:
		return a == b;
	case ASO_NOT_EQUAL:
		return a != b;
	case ASO_GREATER_OR_EQUAL:
		return a >= b;
	case ASO_LESSER_OR_EQUAL:
		return a <= b;
	case ASO_LESSER:
		return a < b;
	case ASO_GREATER:
		return a > b;
	case ASO_CYCLIC_GREATER:
		return (int32_t)(a - b) > 0;
	case ASO_CYCLIC_LESSER:
		return (int32_t)(a - b) < 0;
	default:
		return false;
	}
}

static bool all_hold(const uint8_t *bytes, const struct aso_change *change)
{
	bool result[2];

	for (unsigned int i = 0; i < 2; i++) {
		uint32_t mask = change->condition[i].mask, word;

		memcpy(&word, bytes + 4 * change->condition[i].word, sizeof(word));
		result[i] = holds(change->condition[i].op, be32toh(word) & mask,
				  change->condition[i].value & mask);
	}
	return change->any ? result[0] || result[1] : result[0] && result[1];
}

bool aso_access(struct aso *aso, uint32_t context, const struct aso_change *change,
		uint8_t before[ASO_BYTES])
{
	uint8_t *bytes = aso->bytes[context];
	bool changes;

	fabric_lock(&aso->lock);
	memcpy(before, bytes, ASO_BYTES);
	changes = all_hold(bytes, change);
	for (unsigned int i = 0; changes && i < ASO_BYTES; i++)
		bytes[i] = (bytes[i] & ~change->mask[i]) | (change->data[i] & change->mask[i]);
	fabric_unlock(&aso->lock);
	return changes;
}

/* The flag as it was: 0 for the first packet. Flag 0 is the lowest bit of the last byte. */
static uint32_t hit_flag(uint8_t *bytes, uint32_t flag, bool set)
{
	uint8_t *byte = &bytes[ASO_BYTES - 1 - flag / 8], bit = 1u << flag % 8;
	uint32_t before = !!(*byte & bit);

	if (set)
		*byte |= bit;
	return before;
}

uint32_t aso_hit(struct aso *aso, uint32_t object, uint8_t arg, struct ether_frame *frame)
{
	uint32_t part = object % per_context[aso->kind];
	uint8_t *bytes = aso->bytes[object / per_context[aso->kind]];
	uint32_t result = 0;

	fabric_lock(&aso->lock);
	switch (aso->kind) {
	case ASO_FIRST_HIT:
		result = hit_flag(bytes, part, arg & ASO_ARG_SET);
		break;
	case ASO_METER:
		result = aso_meter_run(bytes + part * ASO_METER_BYTES, arg, frame,
				       ether_state.now_ns());
		break;
	default:
		result = aso_ct_run(bytes, arg & ASO_ARG_RESPONDER, frame);
		break;
	}
	fabric_unlock(&aso->lock);
	return result;
}
