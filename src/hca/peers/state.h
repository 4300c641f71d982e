/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of this room (struct hca, hca/hca.h). Types only. */
#ifndef HCA_PEERS_STATE_H
#define HCA_PEERS_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct hca_segment;

struct peers_state {
	/* this process's own; set once the fabric is joined */
	struct hca_segment *segment;
	_Atomic bool no_membarrier; /* threads that post receives must fence themselves */
};

#define PEERS_STATE_INIT                                                                           \
	{                                                                                          \
		.segment = NULL, .no_membarrier = true                                             \
	}

#endif
