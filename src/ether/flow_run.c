/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The copy of a packet that is changed on its way.
 */
#include "ether/flow_run.h"

#include <stdlib.h>
#include <string.h>

#define FRONT_SPARE 512u /* so that further headers need no other copy */

bool flow_run_own(struct flow_run *run, uint32_t front)
{
	uint32_t room = front + FRONT_SPARE, len = run->frame.len;
	uint8_t *block;

	if (run->own && (size_t)(run->frame.data - run->own) >= front)
		return true;
	block = malloc(room + len);
	if (!block)
		return false;
	memcpy(block + room, run->frame.data, len);
	free(run->own);
	run->own = block;
	run->frame.data = block + room;
	return true;
}
