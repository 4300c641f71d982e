/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether peers may map the memory of windows, which is that of the regions that they are bound to. */
#ifndef HCA_MW_SHARE_H
#define HCA_MW_SHARE_H

#include <stdbool.h>

#include "hca/memory/mr_types.h"

/* The region is shared, or not any more: so are the windows that are bound to it. */
void mw_share_set(const struct hca_mr *mr, bool shared);

#endif
