/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The functions of an ibv_cq_ex.
 */
#ifndef DRIVER_CQEX_H
#define DRIVER_CQEX_H

#include "driver/cq.h"

/*
 * Puts the functions of `all` into the CQ: the cursor, opcode, error and flags always, readers of
 * other fields if wc_flags (IBV_WC_EX_WITH_*) asks for them.
 */
void drv_cqex_fill(struct drv_cq *cq, uint64_t wc_flags, const struct ibv_cq_ex *all);

#endif
