/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of the wire (struct hca, hca/hca.h). Types only. */
#ifndef HCA_WIRE_STATE_H
#define HCA_WIRE_STATE_H

#include <stdatomic.h>
#include <stdbool.h>

struct wire_state {
	_Atomic bool is_open; /* there is a port, so that taking in is a system call */
};

#define WIRE_STATE_INIT                                                                            \
	{                                                                                          \
		.is_open = false                                                                   \
	}

#endif
