/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The one state of shared memory: created by the first use, with the memfd.
 */
#ifndef FABRIC_SHARE_STATE_H
#define FABRIC_SHARE_STATE_H

#include "fabric/share_types.h"

/*
 * Locks the state, created if need be; NULL when there is no memory for it. The holder has all
 * signals blocked and cannot be cancelled: a handler could touch memory that is blocked, and would
 * wait for ever.
 */
struct share_state *share_lock(void);
void share_unlock(struct share_state *state);
/* NULL before the first use, or when it could not be created. */
struct share_state *share_state_if_any(void);
/* Nothing is shared any more; the memfd and userfaultfd are not open. */
void share_state_reset(struct share_state *state);
/* The first use decides whether this process shares at all: -EOPNOTSUPP when not, or -ENOMEM. */
int share_state_up(struct share_state *state);
/* Whether state->fd is still the memfd: programs close descriptors that they do not know. */
bool share_fd_is_valid(const struct share_state *state);

#endif
