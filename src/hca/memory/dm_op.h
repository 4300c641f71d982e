/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Addresses of device memory at which an access is an operation: a store adds what is stored, a
 * load also sets all bits. The pages have nothing behind them, so that each access raises SIGBUS,
 * whose handler carries it out (util/access.h). The handler is set, unless it is there, by each such
 * mapping, and hands everything else to the one before it.
 */
#ifndef HCA_DM_OP_H
#define HCA_DM_OP_H

#include <stdint.h>

#include "hca/memory/mr.h"
#include "util/access.h"

enum hca_dm_op {
	HCA_DM_OP_INCREMENT,
	HCA_DM_OP_TEST_AND_SET,
	HCA_DM_OPS,
};

/* A bit per operation; a bit per size, the smallest being one byte. */
#define HCA_DM_OP_MASK  (ACCESS_KNOWN ? (1u << HCA_DM_OPS) - 1 : 0u)
#define HCA_DM_OP_SIZES (ACCESS_KNOWN ? 0xfu : 0u)

/* For munmap() by whoever asked. What is left when the memory goes is no longer of effect. */
VB_API int hca_dm_op_map(struct hca_dm *dm, unsigned int op, void **out);

/* The memory goes; dm.c's. */
void dm_op_forget(const struct hca_dm *dm);

#endif
