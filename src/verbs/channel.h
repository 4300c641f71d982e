/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Completion channels among the library's files.
 */
#ifndef VERBS_CHANNEL_H
#define VERBS_CHANNEL_H

#include "verbs/objects.h"

/* One CQ more or less; NULL is no channel. */
void vb_channel_count(struct ibv_comp_channel *channel, int change);

#endif
