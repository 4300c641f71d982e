/* SPDX-License-Identifier: BSD-2-Clause */
/* Pages that nothing refers to any more leave the memfd. */
#ifndef FABRIC_SHARE_OUT_H
#define FABRIC_SHARE_OUT_H

#include "fabric/share_types.h"

/* Makes every segment without references in the range private again. Lock held. */
void share_out_unused(struct share_state *state, struct share_range r);

#endif
