/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A fence remembers who was inside an epoch section at one moment, and can be asked whether all of them have
 * left since. For those who must know that an access is over, but are inside a section themselves
 * and so cannot wait: a window that was invalidated by a request (mw.c, requester.c).
 */
#ifndef HCA_FENCE_H
#define HCA_FENCE_H

#include <stdbool.h>

struct grace_period;
struct hca_peer;

/*
 * Inside an epoch section, whose own section does not count. *out is NULL when nobody else is inside one.
 * `only` names the one process that can have found what is gone; NULL: any, this one included.
 */
int grace_begin(const struct hca_peer *only, struct grace_period **out);

/* Inside an epoch section. A peer that is stopped in a section loses its link in the end. */
bool grace_has_passed(const struct grace_period *fence);

#endif
