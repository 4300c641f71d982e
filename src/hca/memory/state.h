/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of this room (struct hca, hca/hca.h). Types only. */
#ifndef HCA_MEMORY_STATE_H
#define HCA_MEMORY_STATE_H

struct memory_state {
	char none; /* nothing has moved here yet */
};

#define MEMORY_STATE_INIT                                                                          \
	{                                                                                          \
		0                                                                                  \
	}

#endif
