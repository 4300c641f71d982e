/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The adversary of verbena check: the bytes of an RDMA write are placed in an order that the specification allows
 * (IBTA volume 1, 9.5: none is promised within a message), with pauses. The last bytes come last, as programs that
 * poll them expect, unless the region has relaxed ordering.
 */
#ifndef HCA_SHUFFLE_H
#define HCA_SHUFFLE_H

#include <stdbool.h>
#include <stdint.h>

#include "hca/peers/segment.h"

struct hca_list;

/* As hca_mem_write(). */
bool shuffle_write(const struct hca_mr_entry *e, uint64_t addr, const struct hca_list *from,
		   uint64_t len);

#endif
