/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of this room (struct hca, hca/hca.h). Types only. */
#ifndef HCA_ENGINE_STATE_H
#define HCA_ENGINE_STATE_H

#include "util/forksafe.h"

#define HCA_LOCKS_MAX 64

struct engine_state {
	struct forksafe lock[HCA_LOCKS_MAX]; /* registrations of the locks in hca.c's table */
};

#define ENGINE_STATE_INIT                                                                          \
	{                                                                                          \
		.lock = { { 0 } }                                                                  \
	}

#endif
