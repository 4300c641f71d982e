/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls as libc has them: REAL(read)(fd, buf, n). */
#ifndef RSPRELOAD_REAL_H
#define RSPRELOAD_REAL_H

#include "rspreload/state.h"
#include "util/api.h"

void *rsp_real_find(enum rsp_call call);

static inline void *rsp_real(enum rsp_call call)
{
	void *fn = atomic_load_explicit(&rsp.real[call], memory_order_relaxed);

	return likely(fn) ? fn : rsp_real_find(call);
}

#define REAL(name) ((__typeof__(&(name)))rsp_real(RSP_CALL_##name))

#endif
