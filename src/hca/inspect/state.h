/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of this room (struct hca, hca/hca.h): one struct per module. Types only. */
#ifndef HCA_INSPECT_STATE_H
#define HCA_INSPECT_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "roce/inspect.h"

struct hca_trace_ops;

/* control.c */
struct control_state {
	_Atomic bool started;
	int fd; /* FIFO that signals changed settings; constant while started; -1: none */
};

/* dump.c */
struct dump_state {
	_Atomic int fd; /* eventfd by which the handler wakes the service thread; -1: none */
	_Atomic bool installed; /* the handler */
	uint64_t limit_ns;      /* 0: waits have no limit; constant once started */
	/* of the service thread: when to look next, and since when nothing has moved */
	uint64_t next_ns, since_ns, marks;
	bool told;
};

struct inspect_state {
	_Atomic bool is_set_up; /* inspect.c */
	struct roce_inspect
		wire; /* for endpoints; capture and fault exist even while they are off */
	/* Faults were used at least once; some packets may still be delayed after the last one. */
	_Atomic bool faults_used;
	pthread_mutex_t set_lock;      /* applying the settings of the host (control.c) */
	char *capture_set, *fault_set; /* NULL: none; under set_lock */

	struct control_state control;
	struct dump_state dump;
	const struct hca_trace_ops *trace; /* trace.c: while packets are traced; else NULL */
	char report_path[4096];            /* report.c: "" no report, "1" stderr, else a file */
};

#define INSPECT_STATE_INIT                                                                         \
	{                                                                                          \
		.set_lock = PTHREAD_MUTEX_INITIALIZER, .control.fd = -1, .dump.fd = -1,            \
	}

#endif
