/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/drop.h"

#include "util/api.h"

const char *roce_drop_name(enum roce_drop why)
{
	static const char *const names[] = {
		[ROCE_OK] = "none",
		[ROCE_DROP_SHORT] = "shorter than BTH and ICRC",
		[ROCE_DROP_LENGTH] = "bad length",
		[ROCE_DROP_VERSION] = "unknown transport version",
		[ROCE_DROP_OPCODE] = "unknown opcode",
		[ROCE_DROP_HEADER] = "incomplete headers",
		[ROCE_DROP_PAD] = "bad pad count",
		[ROCE_DROP_PAYLOAD] = "payload of a length that the opcode forbids",
		[ROCE_DROP_ICRC] = "bad ICRC",
		[ROCE_DROP_TRUNCATED] = "longer than any packet",
		[ROCE_DROP_PROBE] = "probe",
		[ROCE_DROP_FAULT] = "fault injection",
	};

	_Static_assert(array_size(names) == ROCE_DROP_COUNT, "every reason has a name");
	return (unsigned int)why < ROCE_DROP_COUNT ? names[why] : "?";
}
