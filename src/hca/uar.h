/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Doorbell pages: memory in which programs ring, by a store to a register. The adapter takes what
 * is written out of the registers, so that the same value rung again is a ring again.
 *
 * A page is looked at together with the rings of bell.c. When nothing is to be done it is write
 * protected where the kernel lets us (userfaultfd): the first store wakes the service thread, and
 * until then nobody looks at anything.
 */
#ifndef HCA_UAR_H
#define HCA_UAR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "hca/eq.h"
#include "hca/format.h"

#define HCA_UAR_SIZE 4096u

struct hca_uar {
	uint8_t *page;
	/* Event queues that are told by this page, and how often one was. */
	atomic_uint eqs, rings;
	uint32_t id; /* from 1 */
	const struct hca_format *format;
	bool watched; /* one of the list below, under bell.c's lock; so are the others */
	bool asleep;  /* write protected */
	bool rung;    /* ... and a store waits */
	/* Where a store was to come when the page was opened, and what was there; or NULL. */
	uint64_t *awaited, before, opened_ns;
	bool guarded; /* known to the kernel's userfaultfd */
	struct hca_uar *next;
};

VB_API int hca_uar_create(const struct hca_format *format, struct hca_uar **out);
VB_API void hca_uar_destroy(struct hca_uar *uar);

/* From now on the program may ring here. Until hca_uar_destroy(). */
VB_API void hca_uar_watch(struct hca_uar *uar);

/* ---- for eq.c and bell.c ---- */

int uar_watch_eq(struct hca_eq *eq);
void uar_forget_eq(struct hca_eq *eq);

/* bell.c's lock held, as for all that follow. True when something had been rung. */
bool uar_look(void);
bool uar_any(void);
/*
 * Puts all pages to sleep; true when all of them are, and nothing had been rung before they were.
 * uar_wake() undoes it, uar_wake_rung() for pages that somebody waits for.
 */
bool uar_sleep(void);
void uar_wake(void);
void uar_wake_rung(void);
/* The descriptor by which the service thread hears of readers (view.h); -1: there is none. */
int uar_minor_guard(void);
void uar_forked(void);

#endif
