/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Protection domains among the library's files.
 */
#ifndef VERBS_PD_H
#define VERBS_PD_H

#include "verbs/objects.h"

int vb_parent_dealloc(struct vb_pd *pd);

/*
 * An object counts at its protection domain through its own half in the adapter; at a parent
 * domain, which the adapter does not know, it counts here.
 */
static inline void vb_parent_get(struct vb_pd *pd)
{
	if (pd->of)
		atomic_fetch_add_explicit(&pd->users, 1, memory_order_relaxed);
}

static inline void vb_parent_put(struct vb_pd *pd)
{
	if (pd->of)
		atomic_fetch_sub_explicit(&pd->users, 1, memory_order_release);
}

#endif
