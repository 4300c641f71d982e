/* SPDX-License-Identifier: BSD-2-Clause */
/* Types that the parts of fault injection share. */
#ifndef ROCE_FAULT_TYPES_H
#define ROCE_FAULT_TYPES_H

enum roce_fault_action {
	ROCE_FAULT_NONE,
	ROCE_FAULT_DROP,
	ROCE_FAULT_DUP,
	ROCE_FAULT_CORRUPT,
	ROCE_FAULT_DELAY,
	ROCE_FAULT_REORDER,
	ROCE_FAULT_RNR,
	ROCE_FAULT_NAK,
	ROCE_FAULT_PASS,
};

enum roce_dir {
	ROCE_DIR_IN = 1,
	ROCE_DIR_OUT = 2,
};

#endif
