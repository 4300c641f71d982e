/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Preloaded by the interop tests into ibv_*_pingpong, at either end. These programs fix two things
 * that an emulated guest and a lossy wire do not go well with, and have no option for either:
 *
 * - 67 ms to acknowledge, eight times: a guest that gets no CPU for half a second counts as dead.
 *   Here an acknowledgement may take INTEROP_TIMEOUT (the code, as in ibv_qp_attr).
 * - The programs leave without telling the other end. An end that has all it waits for destroys its
 *   QP, and when its last acknowledgement was lost, the other end repeats its last message in vain. Here a
 *   QP stays for INTEROP_LINGER ms and answers repetitions, as TCP does after a close.
 */
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <stdlib.h>
#include <time.h>

#define EXPORT __attribute__((visibility("default")))

static long setting(const char *name)
{
	const char *value = getenv(name);

	return value ? atol(value) : 0;
}

EXPORT int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	static int (*next)(struct ibv_qp *, struct ibv_qp_attr *, int);
	struct ibv_qp_attr patient = *attr;
	long timeout = setting("INTEROP_TIMEOUT");

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "ibv_modify_qp");
	if (timeout && mask & IBV_QP_TIMEOUT)
		patient.timeout = (uint8_t)timeout;
	return next(qp, &patient, mask);
}

/* The first QP to go waits for all of them. */
EXPORT int ibv_destroy_qp(struct ibv_qp *qp)
{
	static int (*next)(struct ibv_qp *);
	long ms = setting("INTEROP_LINGER");

	if (!next) {
		struct timespec rest = { ms / 1000, ms % 1000 * 1000000 };

		*(void **)&next = dlsym(RTLD_NEXT, "ibv_destroy_qp");
		nanosleep(&rest, NULL);
	}
	return next(qp);
}
