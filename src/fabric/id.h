/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The id of a process in the host directory: slot in the low bits, generation above. A slot that is
 * taken again gets another generation, so an id never names two processes.
 */
#ifndef FABRIC_ID_H
#define FABRIC_ID_H

#include <stdint.h>

typedef uint32_t fabric_id_t;

#define FABRIC_ID_NONE   0u
#define FABRIC_SLOT_BITS 15
#define FABRIC_SLOTS     (1u << FABRIC_SLOT_BITS)

static inline uint32_t fabric_id_slot(fabric_id_t id)
{
	return id & (FABRIC_SLOTS - 1);
}

#endif
