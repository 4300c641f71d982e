/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Questions from outside: a process that is not in the host directory lists the processes that are, and asks them to
 * describe themselves (fabric_config.describe). The service thread of each answers. Nothing here waits: a process that
 * is stopped or hangs does not answer, and its question can be closed at any time.
 */
#ifndef FABRIC_ASK_H
#define FABRIC_ASK_H

#include <stdint.h>
#include <sys/types.h>

#include "fabric/directory.h"
#include "fabric/port_counts.h"
#include "util/api.h"

/* Slots of the directory that were ever taken; 0 without a directory. */
VB_API uint32_t fabric_ask_slots(const struct fabric_counts_view *view);
/* The process in the slot; -ESRCH: there is none. One that was killed may still be there. */
VB_API int fabric_ask_process(const struct fabric_counts_view *view, uint32_t slot,
			      struct fabric_process *out);
/*
 * Asks. The caller closes the socket, which becomes readable with the answer; `pid` is the process's in the
 * namespace of the caller, or 0. -ECONNREFUSED: the process is gone; -EPERM: it is another user's.
 */
VB_API int fabric_ask(const struct fabric_process *process, int *sock, pid_t *pid);
/* Takes the answer: a memory file, which its owner could still change. -EAGAIN: not yet; -ENODATA: there is none. */
VB_API int fabric_ask_take(int sock, int *fd);

#endif
