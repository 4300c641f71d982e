/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of this room (struct hca, hca/hca.h). Types only. */
#ifndef HCA_WIRE_STATE_H
#define HCA_WIRE_STATE_H

struct wire_state {
	char none; /* nothing has moved here yet */
};

#define WIRE_STATE_INIT                                                                            \
	{                                                                                          \
		0                                                                                  \
	}

#endif
