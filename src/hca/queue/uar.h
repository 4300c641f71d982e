/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Doorbell pages: memory in which programs ring, by a store to a register. The adapter takes what
 * is written out of the registers, so that the same value rung again is a ring again.
 *
 * A page is looked at together with the rings of doorbell_watch.c. When nothing is to be done it is write
 * protected where the kernel lets us (userfaultfd): the first store wakes the service thread, and
 * until then nobody looks at anything.
 *
 * Programs may also map a page themselves, from the context's file, even in another process. Stores
 * there are no page faults of ours, so that it is a second page with the same registers, a hole in
 * the file until somebody touches it; who might is looked for ten times a second. Once it was
 * touched the watch does not sleep any more.
 */
#ifndef HCA_UAR_H
#define HCA_UAR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "hca/queue/eq.h"
#include "hca/device/format.h"

#define HCA_UAR_SIZE 4096u

struct hca_uar {
	uint8_t *page;
	/* Event queues that are told by this page, and how often one was. */
	atomic_uint eqs, rings;
	uint32_t id; /* from 1 */
	const struct hca_format *format;
	bool watched; /* one of the list below, under doorbell_watch.c's lock; so are the others */
	bool asleep;  /* write protected */
	bool rung;    /* ... and a store waits */
	/* Where a store was to come when the page was opened, and what was there; or NULL. */
	uint64_t *awaited, before, opened_ns;
	uint8_t *shown; /* the second page, or NULL */
	off_t shown_at;
	_Atomic bool has_guest; /* ... and somebody has touched it */
	bool guarded;           /* known to the kernel's userfaultfd */
	struct hca_uar *next;
};

VB_API int hca_uar_create(const struct hca_format *format, struct hca_uar **out);
VB_API void hca_uar_destroy(struct hca_uar *uar);

/* From now on the program may ring here. Until hca_uar_destroy(). */
VB_API void hca_uar_watch(struct hca_uar *uar);

/*
 * Shows the page in the file, at a place that no other one has; the same place when it is shown
 * already.
 */
VB_API int hca_uar_show(struct hca_uar *uar, int fd, off_t *out);

/* The second page, if it is in use. */
static inline uint8_t *uar_shown(const struct hca_uar *uar)
{
	return atomic_load_explicit(&uar->has_guest, memory_order_relaxed) ? uar->shown : NULL;
}

/* ---- for eq.c and doorbell_watch.c ---- */

int uar_watch_eq(struct hca_eq *eq);
void uar_forget_eq(struct hca_eq *eq);

/* doorbell_watch.c's lock held, as for all that follow. True when something had been rung. */
bool uar_look(void);
bool uar_any(void);
/*
 * Puts all pages to sleep; true when all of them are, and nothing had been rung before they were.
 * uar_wake() undoes it, uar_wake_rung() for pages that somebody waits for.
 */
bool uar_sleep(void);
void uar_wake(void);
void uar_wake_rung(void);
/* The descriptor by which the service thread hears of readers (cq_alias.h); -1: there is none. */
int uar_minor_guard(void);
/* Whether a page might be touched that nobody looks at; whether one was. */
bool uar_expects_guests(void);
bool uar_find_guests(void);
void uar_forked(void);

#endif
