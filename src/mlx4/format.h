/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The mlx4 ring format for the adapter (hca/device/format.h). decode.c reads send WQEs, driver/recv_wqe.c
 * receive WQEs; cqe.c writes CQEs.
 *
 * Receive rings of shared queues have hca_rq_ring.signature set: their WQEs start with a link segment,
 * which has the size of a signature segment and is skipped like one.
 *
 * CQEs of a CQ whose hca_cq.timestamp_mask is not 0 have the time in place of service level and source
 * LID.
 */
#ifndef MLX4_FORMAT_H
#define MLX4_FORMAT_H

#include "hca/device/format.h"

extern const struct hca_format mlx4_format;

#endif
