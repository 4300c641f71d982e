/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program of a simulation: operations from the seed. Each has a random number of its own, from
 * which all of its details come, so that leaving out one does not change the others.
 */
#ifndef TESTS_SIM_PROGRAM_H
#define TESTS_SIM_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

enum op_kind {
	OP_POST,
	OP_RECV,
	OP_POLL,
	OP_PASS,
	OP_ERROR,
	OP_RECONNECT,
	OP_DRAIN,
	OP_DEREGISTER,
	OP_FLAP,
	OP_VANISH,
	OP_KINDS,
};

struct op {
	uint8_t kind;
	uint8_t round;
	bool left_out;
	uint32_t gap_ns; /* time that passes before it */
	uint64_t random;
};

struct program {
	struct op *op;
	unsigned int count;
};

/* Hosts, queues and queue pairs of the seed; `hosts` 0: as the seed says. Memory, no objects. */
void shape_make(uint64_t seed, unsigned int hosts);
void shape_free(void);

void program_make(struct program *p);
void program_free(struct program *p);
/* Runs it; the shape must be there. */
void program_run(const struct program *p);
const char *program_op_name(enum op_kind kind);

#endif
