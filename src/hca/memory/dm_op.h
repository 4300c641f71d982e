/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Addresses of device memory at which an access is an operation: a store adds the value that is
 * stored, a load also sets all bits. The pages map an empty file, so that each access raises SIGBUS,
 * whose handler carries out the operation (util/access.h). Each mapping installs the handler unless
 * it is installed; every other SIGBUS goes to the handler that the program had.
 */
#ifndef HCA_DM_OP_H
#define HCA_DM_OP_H

#include <stdint.h>

#include "util/access.h"

enum hca_dm_op {
	HCA_DM_OP_INCREMENT,
	HCA_DM_OP_TEST_AND_SET,
	HCA_DM_OPS,
};

/* A bit per operation; a bit per size, the smallest being one byte. */
#define HCA_DM_OP_MASK  (ACCESS_KNOWN ? (1u << HCA_DM_OPS) - 1 : 0u)
#define HCA_DM_OP_SIZES (ACCESS_KNOWN ? 0xfu : 0u)

/* ---- for dm.c ---- */

/* Maps such addresses for [memory, memory + length). The program unmaps them. */
int dm_op_map(void *memory, uint64_t length, unsigned int op, void **out);
/* The memory goes: accesses at its operations' addresses have no effect from now on. */
void dm_op_forget(const void *memory);

#endif
