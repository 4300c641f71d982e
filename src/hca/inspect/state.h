/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of this room (struct hca, hca/hca.h). Types only. */
#ifndef HCA_INSPECT_STATE_H
#define HCA_INSPECT_STATE_H

struct inspect_state {
	char none; /* nothing has moved here yet */
};

#define INSPECT_STATE_INIT                                                                         \
	{                                                                                          \
		0                                                                                  \
	}

#endif
