/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Peers that are stopped, by a signal or a debugger, inside an access to memory of this process,
 * which takes back their right to it. They are not waited for. The pages leave the memfd, so that
 * what a peer does to them later is lost, and are not shared again before its section is over; it
 * notices that it was skipped (transport/direct.c). Copies by the kernel are stopped by what they
 * look at (memory/vm_copy.h). All without locks, outside of sections.
 */
#ifndef HCA_MR_STOPPED_H
#define HCA_MR_STOPPED_H

#include <stddef.h>

#include "hca/memory/mr_share.h"

/*
 * The end of a claim, if there is one, for a region whose key is not valid any more. Returns when no access to the memory can
 * follow.
 */
void mr_stopped_end(void *addr, uint64_t length, bool claimed, uint32_t generation);

/* Returns when no access can follow by a key that is not valid any more, and whose memory stays registered. */
void mr_stopped_wait(void);

/* Sections that are not over, some perhaps beyond the first MR_SHARE_DEBTS, reach no memory that is registered now. */
void mr_stopped_end_all(const struct open_section *open, size_t count);

#endif
