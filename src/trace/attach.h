/* SPDX-License-Identifier: BSD-2-Clause */
/* The entry of the trace: libibverbs (verbs/observer_load.c) calls it with the first context. */
#ifndef TRACE_ATTACH_H
#define TRACE_ATTACH_H

#include "verbs/observer.h"

VB_API const struct vb_observer *verbena_trace_attach(void);

#endif
