/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From 0 or -errno inside to librdmacm's 0, or -1 and errno.
 */
#ifndef CM_RESULT_H
#define CM_RESULT_H

#include <errno.h>

static inline int cm_result(int err)
{
	if (!err)
		return 0;
	errno = -err;
	return -1;
}

#endif
