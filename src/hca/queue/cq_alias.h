/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program's own view of a completion queue that it polls by hand: a second mapping of the ring,
 * of which the adapter can shut the page that will be read next. Whoever reads there then waits in
 * the kernel, which wakes the service thread on the very core that the reader leaves. A program
 * polls after it has rung, so this tells when what was stored to a register has arrived and the page
 * of registers can be closed again; in a virtual machine a timer would take ten times as long.
 *
 * The adapter and the driver use the ring at its first address, which is never shut.
 */
#ifndef HCA_VIEW_H
#define HCA_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/api.h"

struct hca_cq;

struct hca_cq_alias {
	char *addr; /* for the program; as long as the ring */
	void *ring;
	struct hca_cq *cq; /* until it goes */
	size_t length;
	char *shut; /* the page that is, or NULL; under doorbell_watch.c's lock, as is the list */
	struct hca_cq_alias *next, **at;
};

/*
 * The view of the queue's ring, which has one at most. -EOPNOTSUPP where the kernel or the memory do
 * not allow it: the ring itself will do. -ENOMEM.
 */
VB_API int hca_cq_alias_create(struct hca_cq *cq, struct hca_cq_alias **out);
/* Nobody reads there any more. */
VB_API void hca_cq_alias_destroy(struct hca_cq_alias *view);

/* ---- for the adapter ---- */

/* The queue goes; its view may stay a little longer. */
void cq_alias_forget_cq(struct hca_cq *cq);

/*
 * Somebody waits at this address. False: it is not in a view. doorbell_watch.c's lock is held, as for all that
 * follow.
 */
bool cq_alias_touched(uintptr_t address);
/* Shuts the page in which the queue's next entry will be. False: it has no view, or cannot be shut. */
bool cq_alias_shut(struct hca_cq *cq);
/* Lets everybody read everywhere. */
void cq_alias_open(void);
void cq_alias_forked(void);

#endif
