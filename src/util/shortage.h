/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Errors that say that the process or the host lacks something, perhaps for a moment only: the same may succeed a little
 * later. Whether an address, a peer or a file is usable at all is another question.
 */
#ifndef UTIL_SHORTAGE_H
#define UTIL_SHORTAGE_H

#include <errno.h>
#include <stdbool.h>

/* How long to wait before another attempt. */
#define SHORTAGE_PAUSE_NS 20000000u

/* err: 0 or -errno. */
static inline bool is_shortage(int err)
{
	return err == -ENOMEM || err == -EMFILE || err == -ENFILE || err == -ENOSPC ||
	       err == -ENOBUFS || err == -EAGAIN || err == -EINTR;
}

#endif
