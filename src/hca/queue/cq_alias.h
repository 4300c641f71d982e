/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An alias of a completion queue: a second mapping of its ring, which a program polls by hand. The
 * service thread can close the page of the alias that the program will read next. A reader then
 * faults and waits in the kernel, which wakes the service thread (uffd.h) on the core that the
 * reader leaves. A program polls after it has rung, so a read tells that its store to a doorbell
 * page has arrived and that the doorbell page can be closed again; in a virtual machine a timer
 * would take ten times as long.
 *
 * The adapter and the driver use the ring at its first address, where no page is ever closed.
 */
#ifndef HCA_CQ_ALIAS_H
#define HCA_CQ_ALIAS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "fabric/epoch.h"
#include "util/api.h"

struct hca_cq_alias {
	char *addr; /* for the program; as long as the ring */
	void *ring;
	size_t length;
	size_t entry_size;
	uintptr_t page_size;
	bool trappable;  /* reads can be signals on their thread (doorbell_trap.h) */
	bool registered; /* reads can wait in the kernel: registered with userfaultfd */
	_Atomic(const uint32_t *) producer; /* the CQ's index; NULL once the CQ is gone */
	_Atomic(char *)
		trapped; /* the page of which they do; NULL: none. Changes with hca.queue.watch_lock held */
	_Atomic bool polled;    /* a trapped read has come since a doorbell page was left open */
	_Atomic uint32_t rings; /* doorbells since the last trapped read */
	/* guarded by hca.queue.watch_lock */
	struct hca_cq_alias **slot; /* the CQ's pointer to this alias; NULL once the CQ is gone */
	char *closed;               /* the closed page, or NULL */
	bool listed;                /* false in a forked child, which does not have the mapping */
	LIST_ENTRY(hca_cq_alias) entry;
	struct epoch_node epoch; /* signal handlers use it without the lock */
};

/* The program does not read the alias any more. The CQ may be gone. */
VB_API void hca_cq_alias_destroy(struct hca_cq_alias *alias);

/* ---- for this room ---- */

/*
 * Makes an alias of the ring, unless *slot has one. -EOPNOTSUPP where the kernel or the memory do
 * not allow it; -ENOMEM.
 */
int cq_alias_create(struct hca_cq_alias **slot, void *ring, size_t length, size_t entry_size,
		    const uint32_t *producer);
/* The CQ goes; its alias may stay. */
void cq_alias_forget(struct hca_cq_alias **slot);

/* The rest with hca.queue.watch_lock held. */

/* A thread has faulted at this address. False: it is in no alias. */
bool cq_alias_faulted(uintptr_t address);
/* Closes the page at the offset, where the next entry will be. False: it cannot be closed. */
bool cq_alias_close(struct hca_cq_alias *alias, size_t offset);
/* Opens all pages of all aliases. */
void cq_alias_open_all(void);
/* Reads of the page with the next entry are signals from now on, or none are. Without the CQ, none are. */
void cq_alias_trap(struct hca_cq_alias *alias, bool on);
/* The alias at this address whose reads may be signals, or NULL. Inside an epoch section, without the lock. */
struct hca_cq_alias *cq_alias_find(uintptr_t address);

/* Without the lock, for a program that polls the alias. */

/* Entries from this address on that were written; 0: the next entry will be the one there. */
static inline size_t cq_alias_entries_at(const struct hca_cq_alias *alias, uintptr_t address)
{
	const uint32_t *producer = atomic_load_explicit(&alias->producer, memory_order_relaxed);
	size_t entry = (address - (uintptr_t)alias->addr) / alias->entry_size;

	if (!producer)
		return SIZE_MAX;
	return (__atomic_load_n(producer, __ATOMIC_ACQUIRE) - entry) &
	       (alias->length / alias->entry_size - 1);
}

/* The page with the next entry, for which a program polls; NULL: the CQ is gone. */
static inline char *cq_alias_next_page(const struct hca_cq_alias *alias)
{
	const uint32_t *producer = atomic_load_explicit(&alias->producer, memory_order_relaxed);
	size_t entry;

	if (!producer)
		return NULL;
	entry = __atomic_load_n(producer, __ATOMIC_RELAXED) &
		(alias->length / alias->entry_size - 1);
	return (char *)((uintptr_t)(alias->addr + entry * alias->entry_size) &
			~(alias->page_size - 1));
}

/* Without the lock, too: the entries have gone on to another page. */
static inline bool cq_alias_traps_next(const struct hca_cq_alias *alias)
{
	return atomic_load_explicit(&alias->trapped, memory_order_relaxed) ==
	       cq_alias_next_page(alias);
}

/* In a forked child: the mappings are not inherited. */
void cq_alias_forked(void);

#endif
