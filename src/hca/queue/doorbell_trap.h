/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Doorbell traps: a store to a closed doorbell page (uar.h), or a read of a closed page of a CQ alias (cq_alias.h), is
 * a signal on the thread that made it, whose handler does the adapter's work there and then. That takes two
 * microseconds, where waiting in the kernel for another thread (uffd.h) takes ten, and much more when all processors are busy.
 *
 * The instruction that faults is the program's: its thread holds no lock of ours, so the handler may take any.
 */
#ifndef HCA_DOORBELL_TRAP_H
#define HCA_DOORBELL_TRAP_H

#include <stdatomic.h>
#include <stdbool.h>

#include "hca/hca.h"
#include "util/api.h"

struct hca_uar;

/*
 * Installs the handler, the first time. hca.queue.doorbell_trap.on says whether pages are trapped from now on: not where
 * a handler of the program could come in between (without `verbena run`, which keeps the first place for ours), nor in a
 * debugger, which would stop at each signal. No lock held.
 */
void doorbell_trap_open(void);

/* From now on the program may ring at the page, until the page is destroyed. */
VB_API void hca_doorbell_open(struct hca_uar *uar);

/* Service thread, before it sleeps: as doorbell_watch_before_sleep(). */
uint64_t doorbell_trap_before_sleep(uint64_t now_ns);

/* Records have been received from a link. */
static inline void doorbell_trap_note_rx(void)
{
	if (unlikely(atomic_load_explicit(&hca.queue.doorbell_trap.on, memory_order_relaxed)))
		atomic_fetch_add_explicit(&hca.queue.doorbell_trap.rx, 1, memory_order_relaxed);
}

/* A completion queue that a program polls by hand has a new entry. */
static inline void doorbell_trap_note_entry(void)
{
	atomic_fetch_add_explicit(&hca.queue.doorbell_trap.entries, 1, memory_order_relaxed);
}

#endif
