/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tree of shared ranges: which pages are in the memfd, how often they were shared, and where
 * their private mapping is parked.
 */
#ifndef FABRIC_SHARE_BOOK_H
#define FABRIC_SHARE_BOOK_H

#include "fabric/share_types.h"

/* The whole pages that cover the bytes. -EFAULT, or -EOPNOTSUPP above SHARE_SPACE. */
int share_range_make(const struct share_state *state, const void *va, size_t len,
		     struct share_range *out);
/* Whether all pages of the range are shared. */
bool share_book_covers(const struct share_state *state, struct share_range r);
/*
 * The pages came into the memfd, and their private mapping is parked from `parked` on (0: nowhere).
 * New segments have no references; segments that were there describe memory that is gone.
 */
void share_book_enter(struct share_state *state, struct share_range r, uintptr_t parked);
/* The pages are gone from the range, or have become private. */
void share_book_leave(struct share_state *state, struct share_range r);

#endif
