/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The mlx5 ring format for the adapter (hca/device/format.h). decode.c reads send WQEs, driver/recv_wqe.c
 * receive WQEs; cqe.c writes CQEs, eqe.c EQEs.
 *
 * Receive rings of shared queues have hca_rq_ring.signature set: their WQEs start with a link segment,
 * which has the size of a signature segment and is skipped like one.
 */
#ifndef MLX5_FORMAT_H
#define MLX5_FORMAT_H

#include "hca/device/format.h"

extern const struct hca_format mlx5_format;

#endif
