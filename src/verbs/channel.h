/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion channels.
 */
#ifndef VERBS_CHANNEL_H
#define VERBS_CHANNEL_H

#include "verbs/objects.h"

/* Counts a CQ of the channel (1) or no longer (-1); channel may be NULL. */
void vb_channel_count(struct ibv_comp_channel *channel, int change);
/* -EBADF when the descriptor in the public struct is not open. */
int vb_channel_check(struct ibv_comp_channel *channel, const char *call);

#endif
