/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of this room (struct hca, hca/hca.h). Types only. */
#ifndef HCA_QUEUE_STATE_H
#define HCA_QUEUE_STATE_H

struct queue_state {
	char none; /* nothing has moved here yet */
};

#define QUEUE_STATE_INIT                                                                           \
	{                                                                                          \
		0                                                                                  \
	}

#endif
