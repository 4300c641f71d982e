/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events that the program holds: counted when they are handed out, under the lock of the queue
 * they come from, and waited for when their object goes.
 */
#ifndef VERBS_EVENT_H
#define VERBS_EVENT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "hca/device/async.h"

void vb_event_taken(const struct hca_event *event);

/*
 * Waits until the program has acknowledged as many events as were handed out. Nothing may be handed
 * out any more.
 */
void vb_event_wait(pthread_mutex_t *mutex, pthread_cond_t *cond, const uint32_t *completed,
		   atomic_uint *handed_out);

#endif
