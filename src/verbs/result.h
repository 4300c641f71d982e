/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From 0 or -errno inside to the two common conventions of the API. Both set errno, since programs look
 * there too.
 */
#ifndef VERBS_RESULT_H
#define VERBS_RESULT_H

#include <errno.h>
#include <stddef.h>

/* 0, or the errno, positive. */
static inline int vb_result(int err)
{
	if (err)
		errno = -err;
	return -err;
}

/* NULL and errno. */
static inline void *vb_null(int err)
{
	errno = -err;
	return NULL;
}

#endif
