/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of this room (struct hca, hca/hca.h). Types only. */
#ifndef HCA_PEERS_STATE_H
#define HCA_PEERS_STATE_H

struct peers_state {
	char none; /* nothing has moved here yet */
};

#define PEERS_STATE_INIT                                                                           \
	{                                                                                          \
		0                                                                                  \
	}

#endif
