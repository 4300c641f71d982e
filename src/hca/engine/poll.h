/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls of threads that poll completion queues. */
#ifndef HCA_POLL_H
#define HCA_POLL_H

#include "util/api.h"

/* Before a look at a ring: receives what peers have sent. Cheap when nothing has arrived. */
VB_API void hca_poll(void);
/* The program is about to wait for events (it armed a CQ). */
VB_API void hca_poll_pause(void);
/*
 * Service thread, before it tells a program of the end of a connection: packets that the peer sent before that
 * have taken effect when this returns. An exception are packets on a link whose receive lock another thread
 * holds: that thread executes them.
 */
VB_API void hca_poll_arrived(void);

#endif
