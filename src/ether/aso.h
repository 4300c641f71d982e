/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ASO objects (advanced steering operations): state that rules read and change with every packet. A bulk
 * has 2^n contexts of 64 bytes in the device's layout, which programs read and write as they are; a
 * context is 512 first-hit flags, two meters, or one TCP connection.
 *
 * Contexts change under the lock of the bulk, for well under a microsecond.
 */
#ifndef ETHER_ASO_H
#define ETHER_ASO_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "ether/aso_types.h"
#include "ether/frame.h"
#include "fabric/epoch.h"
#include "fabric/lock.h"
#include "util/api.h"

struct aso {
	enum aso_kind kind;
	uint32_t contexts;
	uint32_t number, pdn; /* the owner's: number of the first context; domain of accesses */
	atomic_uint refs;
	struct epoch_node epoch;
	struct fabric_lock lock;
	uint8_t bytes[][ASO_BYTES];
};

/* The argument of a rule for an object; a meter's is an enum aso_colour. */
#define ASO_ARG_SET       1u /* a first hit: sets the flag */
#define ASO_ARG_RESPONDER 1u /* a connection: packets of the responder */

/* Zeroed. NULL: no memory. */
VB_API struct aso *aso_create(enum aso_kind kind, uint32_t contexts);
VB_API struct aso *aso_get(struct aso *aso);
VB_API void aso_put(struct aso *aso);
/* Puts the reference once no thread can still use the object without one. */
VB_API void aso_retire(struct aso *aso);
/* Objects that rules can name in a bulk. */
VB_API uint32_t aso_count(const struct aso *aso);

/* Reads the context as it was before, and changes it; true if it did. */
VB_API bool aso_access(struct aso *aso, uint32_t context, const struct aso_change *change,
		       uint8_t before[ASO_BYTES]);

/* Applies the object to a packet; returns the value for the rule's register. */
uint32_t aso_hit(struct aso *aso, uint32_t object, uint8_t arg, struct ether_frame *frame);

#endif
