/* SPDX-License-Identifier: BSD-2-Clause */
/* A memory window. Types only. */
#ifndef HCA_MW_TYPES_H
#define HCA_MW_TYPES_H

#include <stdbool.h>
#include <stdint.h>

#include "hca/memory/mr_types.h"
#include "hca/memory/pd.h"

struct hca_mw {
	struct hca_pd *pd;
	uint32_t index;
	uint32_t key;
	bool type2;
	struct hca_mr *mr; /* bound to */
};

#endif
