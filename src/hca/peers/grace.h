/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A fence remembers who was inside a guard at one moment, and can be asked whether all of them have
 * left since. For those who must know that an access is over, but are inside a section themselves
 * and so cannot wait: a window that was invalidated by a request (mw.c, requester.c).
 */
#ifndef HCA_FENCE_H
#define HCA_FENCE_H

#include <stdbool.h>

struct hca_fence;
struct hca_peer;

/*
 * Inside a guard, whose own section does not count. *out is NULL when nobody else is inside one.
 * `only` names the one process that can have found what is gone; NULL: any, this one included.
 */
int hca_fence_make(const struct hca_peer *only, struct hca_fence **out);

/* Inside a guard. A peer that is stopped in a section loses its link in the end. */
bool hca_fence_passed(const struct hca_fence *fence);

#endif
