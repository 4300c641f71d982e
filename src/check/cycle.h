/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Objects that are made and destroyed for every message: address handles and memory regions.
 */
#ifndef CHECK_CYCLE_H
#define CHECK_CYCLE_H

#include "verbs/objects.h"

void check_cycle_ah(struct vb_ah *ah, const struct ibv_ah_attr *attr);
void check_cycle_mr(struct vb_mr *mr);

#endif
