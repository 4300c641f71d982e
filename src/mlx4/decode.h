/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Send WQEs as the adapter reads them.
 */
#ifndef MLX4_DECODE_H
#define MLX4_DECODE_H

#include "hca/device/format.h"

/* The syndrome that a ConnectX reports for malformed WQEs. */
#define MLX4_VENDOR_BAD_ENTRY 0x68

void mlx4_sq_decode(const struct hca_qp *qp, uint32_t index, struct hca_send *out);

#endif
