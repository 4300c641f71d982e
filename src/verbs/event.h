/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events that the program has not acknowledged: counted when they are handed out, under the lock of
 * their queue, and waited for when their object is destroyed.
 */
#ifndef VERBS_EVENT_H
#define VERBS_EVENT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "hca/device/async.h"

void vb_event_taken(const struct hca_event *event);

/*
 * Waits until the program has acknowledged as many events as were handed out. No further
 * event may be handed out.
 */
void vb_event_wait(pthread_mutex_t *mutex, pthread_cond_t *cond, const uint32_t *completed,
		   atomic_uint *handed_out);

#endif
