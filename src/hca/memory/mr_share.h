/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Claims of regions on shared pages. Around forks sharing is suspended (mr_suspend.h): the generation counts
 * suspensions and their ends, and an odd one is a suspension. A claim holds for one generation; those of earlier
 * ones are void. hca.memory.share.lock guards the generation and all claims.
 */
#ifndef HCA_MR_SHARE_H
#define HCA_MR_SHARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hca/hca.h"
#include "hca/peers/open_section.h"

/* Peers cannot map memory of this process at the moment. */
static inline bool mr_share_is_suspended(void)
{
	return atomic_load_explicit(&hca.memory.share.generation, memory_order_relaxed) & 1;
}

/*
 * All with the lock held, from a claim until the region is in the table of regions, so that the end of a suspension
 * finds it. A claim during a suspension is fulfilled at its end.
 */
int mr_share_claim(void *addr, uint64_t length, uint32_t *generation);
void mr_share_release(void *addr, uint64_t length, uint32_t generation);
/* share_range_get(), unless a stopped peer may still access pages that were there. */
int mr_share_get(void *addr, uint64_t length);
/* Renews a claim if it is void; false: the memory cannot be shared any more. */
bool mr_share_renew(void *addr, uint64_t length, uint32_t *generation);

/*
 * The range is not shared again before these sections are over. Lock held. False: no room.
 */
bool mr_share_owe(uintptr_t start, uintptr_t end, const struct open_section *open, size_t count);

/* Pages become private although a peer is stopped inside an access. */
void mr_share_skip(void);

/* Tells peers, too. */
void mr_share_set_generation(uint32_t to);

static inline uint32_t mr_share_generation(void)
{
	return atomic_load_explicit(&hca.memory.share.generation, memory_order_relaxed);
}

#endif
