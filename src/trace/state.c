/* SPDX-License-Identifier: BSD-2-Clause */
#include "trace/state.h"

struct trace_state trace = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
};

_Thread_local struct trace_thread trace_thread;
