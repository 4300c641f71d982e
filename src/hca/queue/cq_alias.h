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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "util/api.h"

struct hca_cq_alias {
	char *addr; /* for the program; as long as the ring */
	void *ring;
	size_t length;
	/* guarded by hca.queue.watch_lock */
	struct hca_cq_alias **slot; /* the CQ's pointer to this alias; NULL once the CQ is gone */
	char *closed;               /* the closed page, or NULL */
	bool listed;                /* false in a forked child, which does not have the mapping */
	LIST_ENTRY(hca_cq_alias) entry;
};

/* The program does not read the alias any more. The CQ may be gone. */
VB_API void hca_cq_alias_destroy(struct hca_cq_alias *alias);

/* ---- for this room ---- */

/*
 * Makes an alias of the ring, unless *slot has one. -EOPNOTSUPP where the kernel or the memory do
 * not allow it; -ENOMEM.
 */
int cq_alias_create(struct hca_cq_alias **slot, void *ring, size_t length);
/* The CQ goes; its alias may stay. */
void cq_alias_forget(struct hca_cq_alias **slot);

/* The rest with hca.queue.watch_lock held. */

/* A thread has faulted at this address. False: it is in no alias. */
bool cq_alias_faulted(uintptr_t address);
/* Closes the page at the offset, where the next entry will be. False: it cannot be closed. */
bool cq_alias_close(struct hca_cq_alias *alias, size_t offset);
/* Opens all pages of all aliases. */
void cq_alias_open_all(void);

/* In a forked child: the mappings are not inherited. */
void cq_alias_forked(void);

#endif
