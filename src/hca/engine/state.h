/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of this room (struct hca, hca/hca.h). Types only. */
#ifndef HCA_ENGINE_STATE_H
#define HCA_ENGINE_STATE_H

struct engine_state {
	char none; /* nothing has moved here yet */
};

#define ENGINE_STATE_INIT                                                                          \
	{                                                                                          \
		0                                                                                  \
	}

#endif
