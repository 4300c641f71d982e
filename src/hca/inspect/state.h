/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of this room (struct hca, hca/hca.h): one struct per module. Types only. */
#ifndef HCA_INSPECT_STATE_H
#define HCA_INSPECT_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "roce/inspect.h"

/* control.c */
struct control_state {
	_Atomic bool started;
	int fd; /* FIFO that signals changed settings; constant while started; -1: none */
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
	char report_path[4096]; /* report.c: "" no report, "1" stderr, else a file */
};

#define INSPECT_STATE_INIT                                                                         \
	{                                                                                          \
		.set_lock = PTHREAD_MUTEX_INITIALIZER, .control.fd = -1,                           \
	}

#endif
