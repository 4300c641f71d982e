/* SPDX-License-Identifier: BSD-2-Clause */
/* Access to ASO objects, as a request of a send queue describes it. */
#ifndef ETHER_ASO_TYPES_H
#define ETHER_ASO_TYPES_H

#include <stdbool.h>
#include <stdint.h>

#define ASO_BYTES 64u

enum aso_kind {
	ASO_FIRST_HIT,
	ASO_METER,
	ASO_CT,
	ASO_KINDS,
};

enum aso_condition {
	ASO_NEVER,
	ASO_ALWAYS,
	ASO_EQUAL,
	ASO_NOT_EQUAL,
	ASO_GREATER_OR_EQUAL,
	ASO_LESSER_OR_EQUAL,
	ASO_LESSER,
	ASO_GREATER,
	ASO_CYCLIC_GREATER,
	ASO_CYCLIC_LESSER,
	ASO_CONDITIONS,
};

/* A change of a context, if conditions on two of its words hold. */
struct aso_change {
	struct {
		uint8_t op;   /* enum aso_condition */
		uint8_t word; /* below 16 */
		uint32_t value, mask;
	} condition[2];
	bool any; /* one of them is enough */
	uint8_t data[ASO_BYTES], mask[ASO_BYTES];
};

#endif
