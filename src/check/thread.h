/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Thread domains: one thread at a time uses all of their objects.
 */
#ifndef CHECK_THREAD_H
#define CHECK_THREAD_H

#include <stdbool.h>

#include "check/place.h"
#include "verbs/objects.h"

bool check_td_enter(struct vb_td *td, const struct check_place *place);

/* The thread begins to use an object of the domain, or NULL. False: it does so already, or another one does. */
static inline bool check_td_begin(struct vb_td *td, const struct check_place *place)
{
	return unlikely(td) && check_td_enter(td, place);
}

/* `begun` as check_td_begin() has returned it. */
static inline void check_td_end(struct vb_td *td, bool begun)
{
	if (unlikely(begun))
		atomic_store(&td->watch, 0);
}

#endif
