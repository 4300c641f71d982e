/* SPDX-License-Identifier: BSD-2-Clause */
/* From 0 or -errno inside to the sockets' 0, or -1 and errno; lengths as they are. */
#ifndef RSOCKET_RESULT_H
#define RSOCKET_RESULT_H

#include <errno.h>
#include <sys/types.h>

static inline ssize_t rs_result(ssize_t result)
{
	if (result >= 0)
		return result;
	errno = -result;
	return -1;
}

#endif
