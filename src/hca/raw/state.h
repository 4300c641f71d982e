/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of this room (struct hca, hca/hca.h). Types only. */
#ifndef HCA_RAW_STATE_H
#define HCA_RAW_STATE_H

struct raw_state {
	char none; /* nothing has moved here yet */
};

#define RAW_STATE_INIT                                                                             \
	{                                                                                          \
		0                                                                                  \
	}

#endif
