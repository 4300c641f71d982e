/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Header modification: one step per command.
 */
#ifndef ETHER_FLOW_MODIFY_H
#define ETHER_FLOW_MODIFY_H

#include <stdint.h>

#include "ether/flow_run.h"

struct flow_modify_step {
	uint8_t op;       /* 1 set, 2 add, 3 copy */
	uint8_t to, from; /* indices in the table of fields */
	uint8_t to_shift, from_shift, width;
	uint32_t data;
};

int flow_modify_parse(const uint8_t *command, struct flow_modify_step *out);
void flow_modify_apply(const struct flow_modify_step *steps, unsigned int count,
		       struct flow_run *run);

#endif
