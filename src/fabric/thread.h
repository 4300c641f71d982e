/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the fabric keeps for each thread, in one thread-local struct. Each member belongs to the file
 * that it names.
 */
#ifndef FABRIC_THREAD_H
#define FABRIC_THREAD_H

#include <stdbool.h>
#include <stdint.h>

struct epoch_cell;
struct fabric_link;

#define FABRIC_DEFERRED_KICKS 8u

/* epoch.h */
struct epoch_thread {
	uint32_t generation; /* of the area that has the cell */
	uint32_t depth;      /* of nested sections */
	struct epoch_cell *cell;
	uint64_t section; /* of the cell */
	bool private;     /* the cell is in private memory */
};

struct fabric_thread {
	struct epoch_thread epoch;
	bool is_service; /* service.c: this is the service thread */

	/* link.c: between fabric_kicks_defer() and fabric_kicks_flush() */
	bool kicks_deferred;
	uint32_t kick_count;
	struct fabric_link *kick[FABRIC_DEFERRED_KICKS];

	bool bus_error_passed; /* hca/memory/dm_op.c: a SIGBUS is being passed to the handler before ours */

	/* share_threads.c: 1 + index in its table, 0 for a thread of the program */
	unsigned int share_index_1;
};

#ifndef VB_TLS_MODEL
#define VB_TLS_MODEL "initial-exec"
#endif

extern _Thread_local struct fabric_thread fabric_thread __attribute__((tls_model(VB_TLS_MODEL)));

#endif
