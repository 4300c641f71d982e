/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Doorbell pages (UARs): memory with registers to which programs store to ring a doorbell. The
 * adapter takes the words out of the registers, so that the same word stored again rings again.
 *
 * A page is open or closed. Closed means write protected through userfaultfd (uffd.h): the first
 * store faults, its thread waits in the kernel, and the service thread is woken. doorbell_watch.c
 * decides when pages are closed and opened, and reads the registers. Where the kernel permits no
 * userfaultfd, or cannot protect shared memory (before Linux 5.19), pages are never closed.
 *
 * The adapter reads and empties the registers through a mapping of its own, which is never protected:
 * a thread of the adapter that stored to a closed page would wait for itself.
 *
 * A program may also map a page from the context's file, even in another process. A store there is
 * no fault of this mapping, so the file has a second page with registers of its own (the shown
 * page): a hole in the file until a program touches it. doorbell_watch.c checks for that ten times a
 * second. Once a shown page was touched, pages are not closed any more.
 */
#ifndef HCA_UAR_H
#define HCA_UAR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "fabric/epoch.h"
#include "hca/device/format.h"
#include "hca/queue/uar_place.h"
#include "util/api.h"

/* Doorbell pages in the file of a context begin at this multiple of 2^24 pages. */
#define HCA_UAR_FIRST_SLOT 16u

/* An object whose words come through a page: an event queue, a send queue (sq_register.h). */
struct uar_user {
	/* Takes the object's words out of the page's registers; true when there were any. */
	bool (*look)(struct uar_user *user);
	/* The page is being destroyed. */
	void (*page_gone)(struct uar_user *user);
	LIST_ENTRY(uar_user) entry;
};

struct hca_uar {
	/* The page's address for the program and for the adapter; NULL in a forked child without memory. */
	uint8_t *page, *regs;
	/* Event queues that use this page, and how often a word for one of them was taken. */
	atomic_uint eqs, rings;
	uint32_t id; /* from 1 */
	const struct hca_format *format;
	uint8_t *shown; /* the second page, or NULL */
	off_t shown_at; /* its offset in the context's file */
	_Atomic bool shown_touched;
	/* guarded by hca.queue.watch_lock */
	bool watched;     /* in the list of watched pages */
	bool has_sq;      /* among the users is a send queue */
	bool catchable;   /* stores to it can be caught */
	bool trappable;   /* stores can be signals on their thread (doorbell_trap.h) */
	bool registered;  /* stores can wait in the kernel: registered with userfaultfd */
	bool trapped;     /* closed, and a store is a signal */
	bool closed;      /* write protected */
	bool store_waits; /* closed, and a store waits in the kernel */
	/* In regs, the word to which the store went when the page was opened, or NULL; its old value. */
	uint64_t *awaited, awaited_old, opened_ns;
	LIST_HEAD(, uar_user) users;
	struct epoch_node epoch;
	LIST_ENTRY(hca_uar) entry;     /* of the watched ones */
	LIST_ENTRY(hca_uar) all_entry; /* of all */
};

VB_API int hca_uar_create(const struct hca_format *format, struct hca_uar **out);
VB_API void hca_uar_destroy(struct hca_uar *uar);

/* Makes the shown page, if there is none, and returns its offset in the file. */
VB_API int hca_uar_show(struct hca_uar *uar, int fd, off_t *out);

/* The shown page, if a program has touched it. */
static inline uint8_t *uar_shown(const struct hca_uar *uar)
{
	return atomic_load_explicit(&uar->shown_touched, memory_order_relaxed) ? uar->shown : NULL;
}

/* ---- for this room; hca.queue.watch_lock is held ---- */

/* Adds the page to the watched ones, until hca_uar_destroy(). */
void uar_enlist(struct hca_uar *uar);
bool uar_any(void);
void uar_add_user(struct hca_uar *uar, struct uar_user *user);
void uar_remove_user(struct uar_user *user);

/*
 * Reads the registers of all pages, calls ring_cq() for each word of a completion queue, and
 * look() of all users. True when there was a word.
 */
bool uar_look(void (*ring_cq)(uint32_t cqn, uint32_t word));

/* A store has faulted at this address. False: it is in no page. */
bool uar_store_faulted(uintptr_t address);
/*
 * Closes all pages. False: some stay open, since one cannot be closed. Words that were stored before
 * are in the registers.
 */
bool uar_close_all(void);
/* Stores to every page can be caught: where userfaultfd is forbidden, pages never close. */
bool uar_all_catchable(void);
/* Opens the pages at which stores wait. */
void uar_open_faulted(void);
/* Opens a page at which none waits. */
void uar_open(struct hca_uar *uar);

/* A shown page is there that no program has touched. */
bool uar_has_untouched(void);
/* Checks all shown pages. True: a program has touched one. */
bool uar_check_shown(void);

/* In a forked child: it gets pages of its own, which are empty and not caught, and none is watched. */
void uar_forked(void);

#endif
