/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * userfaultfd: blocks threads that access a page while it moves.
 */
#ifndef FABRIC_SHARE_UFFD_H
#define FABRIC_SHARE_UFFD_H

#include "fabric/share_types.h"

/* Opens it if need be. 0, or -EOPNOTSUPP when this process may not have one. */
int share_uffd_ready(struct share_state *state);
/* Accesses to missing pages wait from now on; with `writes`, writes to present ones, too. */
int share_uffd_block(struct share_state *state, uintptr_t start, size_t len, bool writes);
/* The range was mapped anew: threads that wait try again. */
void share_uffd_wake(struct share_state *state, uintptr_t start, size_t len);
/* The range was not mapped anew: as before block. */
void share_uffd_unblock(struct share_state *state, uintptr_t start, size_t len);
void share_uffd_close(struct share_state *state);

#endif
