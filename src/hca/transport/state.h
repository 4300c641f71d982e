/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of this room (struct hca, hca/hca.h). Types only. */
#ifndef HCA_TRANSPORT_STATE_H
#define HCA_TRANSPORT_STATE_H

struct transport_state {
	char none; /* nothing has moved here yet */
};

#define TRANSPORT_STATE_INIT                                                                       \
	{                                                                                          \
		0                                                                                  \
	}

#endif
