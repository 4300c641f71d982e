/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of this room (struct hca, hca/hca.h). Types only. */
#ifndef HCA_DEVICE_STATE_H
#define HCA_DEVICE_STATE_H

struct device_state {
	char none; /* nothing has moved here yet */
};

#define DEVICE_STATE_INIT                                                                          \
	{                                                                                          \
		0                                                                                  \
	}

#endif
